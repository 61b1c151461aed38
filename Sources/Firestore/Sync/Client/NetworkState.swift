/// Whether a client can reach its backend, as far as it knows, and why it thinks so.
package struct NetworkState: Sendable, Equatable {
    /// Whether the backend can be reached.
    package let state: OnlineState
    /// Why.
    package let reason: NetworkReason
    /// What listeners go by: as in Firestore's clients, the watch stream alone decides that.
    package let listenerState: OnlineState
    /// Whether ``listenerState`` is offline only because an open stream is silent; what is current
    /// stays current then.
    package let isSilent: Bool

    /// A state with its reason; listeners go by the same unless it is said otherwise.
    package init(
        _ state: OnlineState, _ reason: NetworkReason, listeners: OnlineState? = nil,
        isSilent: Bool = false
    ) {
        self.state = state
        self.reason = reason
        listenerState = listeners ?? state
        self.isSilent = isSilent
    }
}
