import LarderModel
import LarderSync

/// Whether a database can reach its backend, as far as it knows, and why it thinks so.
///
/// Only what is asked tells: a database without listeners, gets and pending writes does not know.
/// Both tell: what listens, and what writes. Where they differ, what was learned last counts.
public struct NetworkState: Hashable, Sendable {
    /// Whether the backend can be reached.
    public enum Status: Hashable, Sendable {
        /// It was not asked, or has not answered yet: gets and first snapshots wait.
        case unknown
        /// It has answered.
        case online
        /// It cannot be reached: the cache answers, and writes stay pending.
        case offline
    }

    /// Why the status is what it is.
    public enum Reason: Hashable, Sendable {
        /// The database has no backend.
        case noBackend
        /// Nothing that the application does needs the backend.
        case notAsked
        /// The backend has been asked and has not answered.
        case connecting
        /// The backend has answered.
        case answered
        /// The application has called ``Firestore/disableNetwork(completion:)``.
        case disabled
        /// The store cannot keep what the backend says; it is tried again by itself.
        case storeFailure
        /// Another process speaks to the backend for this store.
        case anotherProcess
        /// The connection has ended, or could not be made; it is tried again by itself.
        case failed(LarderError)
        /// The backend has not answered within ``FirestoreConfiguration/serverWait-swift.property``,
        /// on a new connection or on one that has fallen silent; the attempt goes on.
        case timedOut
        /// The database was terminated.
        case terminated
    }

    /// Whether the backend can be reached.
    public let status: Status

    /// Why the status is what it is.
    public let reason: Reason

    init(_ status: Status, _ reason: Reason) {
        self.status = status
        self.reason = reason
    }
}

extension NetworkState: CustomStringConvertible {
    /// Status and reason, for people to read.
    public var description: String { "\(status): \(reason)" }
}

extension NetworkState.Reason: CustomStringConvertible {
    /// The reason, for people to read.
    public var description: String {
        switch self {
        case .noBackend: "there is no backend"
        case .notAsked: "nothing was asked of the backend"
        case .connecting: "waiting for the backend's first answer"
        case .answered: "the backend has answered"
        case .disabled: "the application has disabled the network"
        case .storeFailure: "the store cannot be written to"
        case .anotherProcess: "another process speaks to the backend"
        case .failed(let error): "the connection has failed: \(error.description)"
        case .timedOut: "the backend has not answered in time"
        case .terminated: "the database was terminated"
        }
    }
}

extension NetworkState {
    /// What the client knows.
    init(_ state: LarderSync.NetworkState) {
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
