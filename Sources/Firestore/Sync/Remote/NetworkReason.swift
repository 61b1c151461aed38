package import LarderModel

/// Why the backend counts as online, offline, or neither.
package enum NetworkReason: Sendable, Equatable {
    /// Nothing that is asked needs the backend.
    case notAsked
    /// The backend has been asked and has not answered.
    case connecting
    /// The backend has answered.
    case answered
    /// The network is not used.
    case disabled(OfflineCauses)
    /// The connection has ended, or could not be made.
    case streamFailed(LarderError)
    /// The backend has not answered in time.
    case timedOut
}
