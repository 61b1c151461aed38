import LarderModel
import LarderRuntime
import LarderSync

/// The last known reachability of a database's backend, with the reason.
///
/// The state is derived from requests: it is `unknown` for a database without listeners, gets and
/// pending writes. Both the stream of listeners and that of writes contribute; the most recent
/// event wins.
public struct NetworkState: Hashable, Sendable {
    /// The reachability of the backend.
    public enum Status: Hashable, Sendable {
        /// No request was made, or none has been answered yet: gets and first snapshots wait.
        case unknown
        /// The backend responds.
        case online
        /// The backend is unreachable: requests are served from the cache, and writes stay pending.
        case offline
    }

    /// The reason for the status.
    public enum Reason: Hashable, Sendable {
        /// The database has no backend.
        case noBackend
        /// The application has requested nothing from the backend.
        case notAsked
        /// A request is waiting for the first response.
        case connecting
        /// The backend responds.
        case answered
        /// The application called ``Firestore/disableNetwork(completion:)``.
        case disabled
        /// The store cannot save the backend's responses; retried automatically.
        case storeFailure
        /// Another process that shares the store is connected to the backend.
        case anotherProcess
        /// The connection failed; retried automatically.
        case failed(LarderError)
        /// The backend has not responded within
        /// ``FirestoreConfiguration/serverWait-swift.property`` on a new or an unresponsive
        /// connection; the attempt continues.
        case timedOut
        /// The database was terminated.
        case terminated
    }

    /// The reachability of the backend.
    public let status: Status

    /// The reason for the status.
    public let reason: Reason

    init(_ status: Status, _ reason: Reason) {
        self.status = status
        self.reason = reason
    }
}

extension NetworkState: CustomStringConvertible {
    /// Status and reason as text.
    public var description: String { "\(status): \(reason)" }
}

extension NetworkState.Reason: CustomStringConvertible {
    /// The reason as text.
    public var description: String {
        switch self {
        case .noBackend: "there is no backend"
        case .notAsked: "nothing was requested from the backend"
        case .connecting: "waiting for the backend's first response"
        case .answered: "the backend responds"
        case .disabled: "the application has disabled the network"
        case .storeFailure: "the store cannot be written to"
        case .anotherProcess: "another process is connected to the backend"
        case .failed(let error): "the connection has failed: \(error.description)"
        case .timedOut: "the backend has not answered in time"
        case .terminated: "the database was terminated"
        }
    }
}

extension NetworkState {
    /// The public form of the client's state.
    init(_ state: LarderRuntime.NetworkState) {
        let status: Status =
            switch state.state {
            case .unknown: .unknown
            case .online: .online
            case .offline: .offline
            }
        self.init(status, Reason(state.reason))
    }
}

extension NetworkState.Reason {
    fileprivate init(_ reason: NetworkReason) {
        self =
            switch reason {
            case .notAsked: .notAsked
            case .connecting: .connecting
            case .answered: .answered
            case .disabled(let causes): Self(causes)
            case .streamFailed(let error): .failed(error)
            case .timedOut: .timedOut
            }
    }

    private init(_ causes: OfflineCauses) {
        if causes.contains(.shutdown) {
            self = .terminated
        } else if causes.contains(.user) {
            self = .disabled
        } else if causes.contains(.storeFailure) {
            self = .storeFailure
        } else {
            self = .anotherProcess
        }
    }
}

// MARK: - NetworkState

extension Firestore {
    /// The last known reachability of the backend; makes no request.
    public var networkState: NetworkState {
        if connection.isTerminated { return NetworkState(.unknown, .terminated) }
        if !connection.configuration.hasBackend { return NetworkState(.offline, .noBackend) }
        guard let client = connection.existingClient else {
            return NetworkState(.unknown, .notAsked)
        }
        return NetworkState(client.networkState)
    }

    /// The reachability of the backend, now and after each change.
    ///
    /// Only the newest state is buffered: a slow consumer skips states, but never the last one.
    public var networkStates: SnapshotSequence<NetworkState> {
        SnapshotSequence(.bufferingNewest(1)) { [self] deliver in
            let registration = Registration()
            do throws(LarderError) {
                let client = try connection.client()
                guard connection.configuration.hasBackend else {
                    deliver(.success(NetworkState(.offline, .noBackend)))
                    return registration
                }
                registration.attach(
                    client.observeNetworkState { state in
                        guard registration.isActive else { return }
                        deliver(.success(NetworkState(state)))
                    })
            } catch {
                deliver(.failure(error))
            }
            return registration
        }
    }

    /// Connects to the backend immediately instead of waiting for the next scheduled attempt.
    ///
    /// For programs that detect changes of the network themselves. Has no effect without a backend
    /// or before the first use.
    public func reconnect() {
        connection.existingClient?.reconnect()
    }
}
