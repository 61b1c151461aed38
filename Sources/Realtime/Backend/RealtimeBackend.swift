public import LarderRealtimeModel
public import LarderRealtimeRemote
// Applications that import the backend see the rules that it enforces.
@_exported public import LarderRealtimeRules
import Synchronization

/// A Realtime Database backend in this process: a tree for each namespace, listens, conditional
/// writes, and writes at the end of connections.
///
/// Databases are configured with its ``connection``. Methods can be called from any thread;
/// requests are served serially on the backend's executor.
public final class RealtimeBackend: Sendable {
    let configuration: RealtimeBackendConfiguration
    let settings: BackendSettings
    private let storage: (any TreeStorage)?
    private let servers: Mutex<[String: TreeServer]>

    /// Opens a backend in memory, whose trees are lost when it is released.
    public init(_ configuration: RealtimeBackendConfiguration = RealtimeBackendConfiguration()) {
        self.configuration = configuration
        settings = BackendSettings(configuration)
        storage = nil
        servers = Mutex([:])
    }

    /// Opens a backend whose trees are stored; reads all of them.
    ///
    /// What sessions of an earlier run have left for their ends is written before any other request
    /// is served.
    ///
    /// Blocks on disk I/O.
    package init(
        _ configuration: RealtimeBackendConfiguration, storage: any TreeStorage
    ) throws(LarderError) {
        self.configuration = configuration
        settings = BackendSettings(configuration)
        self.storage = storage
        var servers: [String: TreeServer] = [:]
        for (namespace, stored) in try storage.trees() {
            let rules = try StoredRules(stored)
            if let rules, rules.replace(configuration.securityRules) {
                settings.setSecurityRules(rules.rules, of: namespace)
            }
            let server = TreeServer(
                namespace, tree: stored.tree, sessions: try StoredSession.sessions(in: stored),
                madeWrites: try MadeWrites(stored), configuration, settings, storage: storage)
            if let rules, !rules.replace(configuration.securityRules) {
                server.perform { $0.replaceSecurityRules(with: nil) }
            }
            servers[namespace] = server
        }
        self.servers = Mutex(servers)
    }

    /// Ends all connections, applies the writes that were left for their ends, and closes the files.
    ///
    /// Later connections are refused with `unavailable`.
    public func close() async throws(LarderError) {
        let result = await withCheckedContinuation { continuation in
            close { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// Like ``close()``; returns immediately.
    package func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        settings.close()
        let all = servers.withLock { Array($0.values) }
        let countdown = Countdown(all.count) { [storage] in
            guard let storage else { return completion(.success(())) }
            storage.close(completion)
        }
        for server in all { server.perform { $0.close { countdown.step() } } }
    }

    /// The namespace of databases that do not name one.
    public static let defaultNamespace = "default"

    /// The connection for the configuration of any number of databases, to the default namespace.
    public var connection: RealtimeRemoteConnection { connection(to: Self.defaultNamespace) }

    /// The connection for the configuration of any number of databases, to a namespace.
    public func connection(to namespace: String) -> RealtimeRemoteConnection {
        RealtimeRemoteConnection(remote(namespace))
    }

    /// The remote of a namespace.
    package func remote(_ namespace: String = defaultNamespace) -> any RealtimeRemote {
        server(of: namespace)
    }

    /// The server of a namespace, which is created when it is first used.
    func server(of namespace: String) -> TreeServer {
        servers.withLock { servers in
            if let server = servers[namespace] { return server }
            let server = TreeServer(namespace, configuration, settings, storage: storage)
            servers[namespace] = server
            return server
        }
    }

    private func performOnAll(_ body: @escaping @Sendable (isolated TreeServer) -> Void) {
        let all = servers.withLock { $0 }
        for (_, server) in all.sorted(by: { $0.key < $1.key }) { server.perform(body) }
    }
}

// MARK: - Trees

extension RealtimeBackend {
    /// The tree of a namespace, with the writes that were answered.
    package func tree(of namespace: String = defaultNamespace) -> Node {
        server(of: namespace).publishedTree
    }

    /// Writes as an administrator: the rules are not asked.
    ///
    /// - Parameter completion: called with the status, after the clients were notified.
    package func write(
        _ write: TreeWrite, in namespace: String = defaultNamespace,
        _ completion: @escaping @Sendable (RealtimeResponse) -> Void = { _ in }
    ) {
        server(of: namespace).perform { $0.writeAsAdministrator(write, completion) }
    }
}

// MARK: - Connections

extension RealtimeBackend {
    /// Refuses new connections with an error; accepts them again for nil.
    package func refuseConnections(with error: LarderError?) {
        settings.refusal = error
    }

    /// Breaks all connections, as a network does; the clients receive an error, or none.
    package func dropConnections(_ error: LarderError? = nil) {
        performOnAll { $0.endAllSessions(.closed(error)) }
    }

    /// Asks all clients to connect to another host.
    package func resetConnections(host: String) {
        performOnAll { $0.endAllSessions(.reset(host: host)) }
    }

    /// Asks all clients not to connect again.
    package func shutDownConnections(reason: String) {
        performOnAll { $0.endAllSessions(.shutdown(reason: reason)) }
    }

    /// Keeps answers back, or releases those that were kept; pushes are sent on.
    ///
    /// Requests that were not released when their connection ends are lost.
    package func holdResponses(_ holds: Bool) {
        performOnAll { $0.holdResponses(holds) }
    }
}

// MARK: - Permissions

extension RealtimeBackend {
    /// Replaces the security rules of all namespaces; listens that they deny end.
    ///
    /// - Parameter rules: nil to allow everything.
    public func setSecurityRules(_ rules: SecurityRules?) {
        settings.setSecurityRules(rules)
        performOnAll { $0.recheckAllListens() }
    }

    /// Replaces the security rules of one namespace until the backend ends; listens that they deny
    /// end.
    ///
    /// - Parameter rules: nil to allow everything.
    public func setSecurityRules(_ rules: SecurityRules?, of namespace: String) {
        settings.setSecurityRules(rules, of: namespace)
        server(of: namespace).perform { $0.recheckAllListens() }
    }

    /// Replaces the security rules of the configuration, and those that were stored in their place;
    /// listens that they deny end.
    ///
    /// - Parameter rules: nil to allow everything.
    package func replaceConfiguredRules(with rules: SecurityRules?) {
        settings.configuredRules = rules
        settings.setSecurityRules(rules)
        performOnAll {
            $0.replaceSecurityRules(with: nil)
            $0.recheckAllListens()
        }
    }

    /// Replaces the check beside the security rules; listens that it denies end.
    package func setRules(_ rules: @escaping Rules) {
        settings.rules = rules
        performOnAll { $0.recheckAllListens() }
    }

    /// Ends the validity of all tokens.
    package func expireTokens() {
        performOnAll { $0.expireAllTokens() }
    }

    /// Ends all listens at a location, as if the rules denied it for a moment.
    package func revokeListens(at path: TreePath, in namespace: String = defaultNamespace) {
        server(of: namespace).perform { $0.revokeListens(at: path) }
    }
}

/// Settings of a backend that can change while it runs.
final class BackendSettings: Sendable {
    private struct State {
        /// The security rules of the configuration; nil for none.
        var configuredRules: SecurityRules?
        var securityRules: SecurityRules?
        /// The security rules of namespaces that have other ones.
        var ownSecurityRules: [String: SecurityRules?] = [:]
        var rules: RealtimeBackend.Rules
        var refusal: LarderError?
        var isClosed = false
    }

    private let state: Mutex<State>

    init(_ configuration: RealtimeBackendConfiguration) {
        state = Mutex(
            State(
                configuredRules: configuration.securityRules,
                securityRules: configuration.securityRules, rules: configuration.rules))
    }

    /// The security rules of a namespace; nil for none.
    func securityRules(of namespace: String) -> SecurityRules? {
        state.withLock { $0.ownSecurityRules[namespace] ?? $0.securityRules }
    }

    /// Replaces the security rules of all namespaces.
    func setSecurityRules(_ rules: SecurityRules?) {
        state.withLock { ($0.securityRules, $0.ownSecurityRules) = (rules, [:]) }
    }

    /// Replaces the security rules of one namespace.
    func setSecurityRules(_ rules: SecurityRules?, of namespace: String) {
        state.withLock { $0.ownSecurityRules[namespace] = .some(rules) }
    }

    /// The security rules of the configuration; nil for none.
    var configuredRules: SecurityRules? {
        get { state.withLock { $0.configuredRules } }
        set { state.withLock { $0.configuredRules = newValue } }
    }

    var rules: RealtimeBackend.Rules {
        get { state.withLock { $0.rules } }
        set { state.withLock { $0.rules = newValue } }
    }

    /// The error for new connections; nil to accept them.
    var refusal: LarderError? {
        get { state.withLock { $0.isClosed ? Self.closed : $0.refusal } }
        set { state.withLock { $0.refusal = newValue } }
    }

    /// Refuses all connections from now on.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// The error of connections to a backend that is closed.
    static let closed = LarderError(realtime: .unavailable, "the backend is closed")
}

/// Calls a closure after a number of steps.
private final class Countdown: Sendable {
    private let remaining: Atomic<Int>
    private let completion: @Sendable () -> Void

    init(_ count: Int, _ completion: @escaping @Sendable () -> Void) {
        remaining = Atomic(count + 1)
        self.completion = completion
        step()
    }

    func step() {
        let left = remaining.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
        if left == 0 { completion() }
    }
}
