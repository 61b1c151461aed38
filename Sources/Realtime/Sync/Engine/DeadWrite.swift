package import LarderCore
import LarderRealtimeModel

/// A write that the server has refused, or a transaction that ended without its application.
package struct DeadWrite: Sendable {
    package let id: WriteID
    package let request: WriteRequest
    package let error: LarderError
    /// When it was made, by the local clock.
    package let writeTime: Timestamp
    /// When it was refused, by the local clock.
    package let refusalTime: Timestamp
}
