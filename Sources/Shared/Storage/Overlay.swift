public import LarderModel

/// The local view of one document for one user, which pending writes made.
public struct Overlay: Sendable, Equatable {
    /// The document as the user sees it; absent when the pending writes delete it.
    public let document: Document

    /// The mutation that makes it, in the caller's encoding.
    public let payload: [UInt8]

    /// The largest pending batch that touches the document.
    public var largestBatchID: Int64 { document.largestBatchID }
}
