package import LarderRealtimeModel
public import LarderRealtimeRules
package import LarderRuntime

/// The configuration of a Realtime Database backend.
public struct RealtimeBackendConfiguration: Sendable {
    /// The security rules, which requests must be allowed by; nil for none.
    public var securityRules: SecurityRules?

    /// A check that requests must pass beside the security rules; by default all pass.
    public var rules: RealtimeBackend.Rules = { _ in .allow }

    /// The check of clients' tokens; by default every token is valid, and is the user's ID.
    public var tokens: RealtimeBackend.TokenCheck = { .valid(RealtimeUser(id: $0)) }

    /// The address space to reserve for stored trees; nil for what suits a few backends.
    package var mapBytes: UInt64?

    /// The host that clients are redirected to for their next connections.
    package var host = "localhost"

    /// The clock for the times of writes.
    package var clock: @Sendable () -> Timestamp = { .now() }

    /// The serial executor of the backend's work, and its timers.
    package var scheduler: any Scheduler<RealtimeBackend.Timer> = QueueScheduler(
        label: "larder.realtime.backend", errorDomain: LarderError.realtimeDomain)

    /// Called when work is enqueued, for simulations; the returned observer is called when the work
    /// is done, which may be in another order.
    package var observeWork: (@Sendable () -> RealtimeBackend.WorkObserver?)?

    /// Generates unique numbers.
    package var makeIdentity: @Sendable () -> UInt64 = { .random(in: 0...UInt64.max) }

    /// A backend in memory that allows everything.
    public init() {}
}

extension RealtimeBackend {
    /// Checks a client's token.
    ///
    /// Called on the backend's thread: it must return quickly and must not wait for the backend.
    public typealias TokenCheck = @Sendable (String) -> TokenDecision

    /// The result of checking a token.
    public enum TokenDecision: Hashable, Sendable {
        /// The token is valid, and belongs to a user.
        case valid(RealtimeUser)
        /// The token was valid once; the client fetches a new one.
        case expired
        /// The token is not valid.
        case invalid(reason: String)
    }

    /// Decides whether a request is allowed; not asked for administrators.
    ///
    /// Called on the backend's thread: it must return quickly and must not wait for the backend.
    public typealias Rules = @Sendable (Request) -> Decision

    /// The decision about a request.
    public enum Decision: Hashable, Sendable {
        /// The request is allowed.
        case allow
        /// The request fails with the status `permission_denied`.
        case deny
    }

    /// A request to be authorized.
    public struct Request: Sendable {
        /// The requested operation.
        public enum Operation: Hashable, Sendable {
            /// Listening to a location, or reading it once.
            case read
            /// Replacing or removing what is at a location.
            case write
        }

        /// The requested operation.
        public let operation: Operation
        /// The path of the location, with a slash in front of each component.
        public var path: String { location.description }
        /// The user; nil for a connection that is not authenticated.
        public let user: RealtimeUser?

        /// The location.
        package let location: TreePath
        /// The query of a read.
        package let parameters: QueryParameters
        /// The whole tree before the request.
        package let tree: Node
        /// The whole tree after a write; equal to `tree` for a read.
        package let result: Node
        /// The time of the request, in milliseconds since the Unix epoch.
        package let milliseconds: Int64
    }

    /// The observer of a piece of work, called on the backend's thread.
    package struct WorkObserver: Sendable {
        let begin: @Sendable () -> Void
        let end: @Sendable () -> Void

        package init(begin: @escaping @Sendable () -> Void, end: @escaping @Sendable () -> Void) {
            (self.begin, self.end) = (begin, end)
        }
    }

    /// The timers of a backend.
    package enum Timer: Hashable, Sendable {
        /// The end of the validity of a session's token.
        case tokenExpiration(session: UInt64)
    }
}
