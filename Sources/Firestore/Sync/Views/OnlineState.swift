/// Whether the backend can be reached, as far as the client knows.
package enum OnlineState: Sendable, Hashable {
    /// Not known yet; what needs the backend waits.
    case unknown
    /// The backend has answered.
    case online
    /// The backend could not be reached, or there is none.
    case offline
}
