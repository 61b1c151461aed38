package import LarderCore

/// Reachability of the backend, as far as the client knows.
package enum OnlineState: Sendable, Hashable {
    /// Not known yet; operations that need the backend wait.
    case unknown
    /// The backend has answered.
    case online
    /// The backend is unreachable, or the network is not used.
    case offline
}

/// The cause of an ``OnlineState``.
package enum NetworkReason: Sendable, Equatable {
    /// No operation needs the backend.
    case notAsked
    /// A request is out and not answered yet.
    case connecting
    /// The backend has answered.
    case answered
    /// The network is not used.
    case disabled(OfflineCauses)
    /// The connection ended or could not be made.
    case streamFailed(LarderError)
    /// The backend has not answered in time.
    case timedOut
}

/// The causes that keep a client from using the network; it uses it when the set is empty.
package struct OfflineCauses: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// The application disabled the network.
    package static let user = OfflineCauses(rawValue: 1)
    /// The store refuses to take what the backend sends.
    package static let storeFailure = OfflineCauses(rawValue: 2)
    /// Another process uses the network for this store.
    package static let notPrimary = OfflineCauses(rawValue: 4)
    /// The client has ended.
    package static let shutdown = OfflineCauses(rawValue: 8)
    /// The store has not completed a change of user.
    package static let userChange = OfflineCauses(rawValue: 16)
    /// The server has asked its clients to stay away.
    package static let serverShutdown = OfflineCauses(rawValue: 32)
}

/// Reachability of a client's backend, with its cause.
package struct NetworkState: Sendable, Equatable {
    /// Reachability over all streams.
    package let state: OnlineState
    /// The cause of ``state``.
    package let reason: NetworkReason
    /// Reachability as listeners see it: decided by the watch stream alone, as in Firestore's
    /// clients.
    package let listenerState: OnlineState
    /// True if ``listenerState`` is offline only because an open stream is silent; current
    /// targets stay current then.
    package let isSilent: Bool

    /// Creates a state; ``listenerState`` equals `state` unless given.
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
