import LarderCore
import LarderRealtimeSync
public import LarderRuntime
import Logging

extension Database {
    /// Stops using the network until ``goOnline()``.
    ///
    /// Observers receive local events meanwhile, and writes wait. The server performs the
    /// operations for the end of the connection. A transaction that was sent and is not answered
    /// fails with the code 9999: it may have been applied.
    public func goOffline() {
        withOpenClient { $0.goOffline() }
    }

    /// Uses the network again and connects at once.
    public func goOnline() {
        withOpenClient { $0.goOnline() }
    }

    /// Connects at once instead of waiting for the next scheduled attempt, for programs that
    /// detect changes of the network themselves.
    public func reconnect() {
        withOpenClient { $0.reconnect() }
    }

    /// Fetches the token again and authenticates with it: the user has signed in, out or again.
    ///
    /// See ``DatabaseConfiguration/tokenProvider-swift.property``.
    public func refreshToken() {
        withOpenClient { $0.tokenChanged() }
    }

    private func withOpenClient(_ body: (DatabaseClient) -> Void) {
        do throws(LarderError) {
            body(try connection.client())
        } catch {
            logger.error("The database cannot be opened: \(error.message)")
        }
    }
}

extension DatabaseReference {
    /// Stops using the network for all shared databases.
    public static func goOffline() {
        for database in Database.allShared { database.goOffline() }
    }

    /// Uses the network again for all shared databases.
    public static func goOnline() {
        for database in Database.allShared { database.goOnline() }
    }
}

// MARK: - State

extension Database {
    /// The reachability of a database's server, with the reason.
    public struct ConnectionState: Hashable, Sendable, CustomStringConvertible {
        /// The reachability of the server.
        public enum Status: Hashable, Sendable {
            /// A connection is being made.
            case connecting
            /// The connection is ready, and the server has accepted the token if there is one.
            case connected
            /// There is no connection: local data serves, and writes wait.
            case disconnected
        }

        /// The reason for the status.
        public enum Reason: Hashable, Sendable {
            /// The database has no backend.
            case noBackend
            /// The database was not used yet.
            case notUsed
            /// A connection is being made.
            case connecting
            /// The server has answered.
            case answered
            /// The application called ``Database/goOffline()``.
            case disabled
            /// The store cannot save what the server sends; retried automatically.
            case storeFailure
            /// The server has asked its clients to stay away; ``Database/goOnline()`` tries again.
            case serverShutdown
            /// The connection failed, or the server refused the token; retried automatically.
            case failed(DatabaseError)
            /// The server has not answered in time; retried automatically.
            case timedOut
            /// The database was closed.
            case closed
        }

        /// The reachability of the server.
        public let status: Status
        /// The reason for the status.
        public let reason: Reason

        /// Status and reason as text.
        public var description: String { "\(status): \(reason)" }
    }

    /// The last known reachability of the server; makes no request.
    public var connectionState: ConnectionState {
        if connection.isClosed { return ConnectionState(status: .disconnected, reason: .closed) }
        if !connection.configuration.hasBackend {
            return ConnectionState(status: .disconnected, reason: .noBackend)
        }
        guard let client = connection.existingClient else {
            return ConnectionState(status: .disconnected, reason: .notUsed)
        }
        return ConnectionState(client.networkState)
    }

    /// The reachability of the server, now and after each change.
    ///
    /// Only the newest state is buffered: a slow consumer skips states, but never the last one.
    public var connectionStates: SnapshotSequence<ConnectionState> {
        SnapshotSequence(
            .bufferingNewest(1),
            listen: { [self] deliver in
                do throws(LarderError) {
                    let client = try connection.client()
                    guard connection.configuration.hasBackend else {
                        deliver(.success(connectionState))
                        return {}
                    }
                    return client.observeNetworkState { deliver(.success(ConnectionState($0))) }
                } catch {
                    deliver(.failure(DatabaseError(error)))
                    return {}
                }
            })
    }
}

extension Database.ConnectionState {
    init(_ state: NetworkState) {
        switch state.state {
        case .unknown: status = .connecting
        case .online: status = .connected
        case .offline: status = .disconnected
        }
        reason = Reason(state.reason)
    }
}

extension Database.ConnectionState.Reason {
    fileprivate init(_ reason: NetworkReason) {
        switch reason {
        case .notAsked: self = .notUsed
        case .connecting: self = .connecting
        case .answered: self = .answered
        case .timedOut: self = .timedOut
        case .streamFailed(let error): self = .failed(DatabaseError(error))
        case .disabled(let causes):
            if causes.contains(.user) {
                self = .disabled
            } else if causes.contains(.storeFailure) {
                self = .storeFailure
            } else {
                self = .serverShutdown
            }
        }
    }
}
