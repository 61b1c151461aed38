public import LarderModel

/// How far a long call has come.
public struct StoreProgress: Hashable, Sendable {
    /// What is done, in the call's unit: bytes or rows.
    public let done: Int64
    /// What there is to do; nil where that is not known.
    public let total: Int64?
}

/// Called now and then by a long call, on the calling thread;
/// ``LarderModel/IterationStep/stop`` ends the call.
public typealias ProgressHandler = (StoreProgress) -> IterationStep
