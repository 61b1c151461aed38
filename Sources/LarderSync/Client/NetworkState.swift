/// Whether a client can reach its backend, as far as it knows, and why it thinks so.
package struct NetworkState: Sendable, Equatable {
    /// Whether the backend can be reached.
    package let state: OnlineState
    /// Why.
    package let reason: NetworkReason

    /// A state with its reason.
    package init(_ state: OnlineState, _ reason: NetworkReason) {
        self.state = state
        self.reason = reason
    }
}
