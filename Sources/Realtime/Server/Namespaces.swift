import Foundation
import LarderHTTP
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRules
import Metrics
import Synchronization

/// An open database of a server, with its services.
final class Namespace: Sendable {
    let name: String
    let backend: RealtimeBackend
    let rest: RESTService
    /// Shared by all sessions.
    let pushFrames = PushFrames()

    init(_ name: String, _ backend: RealtimeBackend) {
        self.name = name
        self.backend = backend
        rest = RESTService(backend)
    }
}

/// The use of a namespace, which stays open for as long.
final class NamespaceUse: Sendable {
    let namespace: Namespace
    private let namespaces: Namespaces?

    /// - Parameter namespaces: what is notified of the end; nil for nothing.
    fileprivate init(_ namespace: Namespace, of namespaces: Namespaces?) {
        self.namespace = namespace
        self.namespaces = namespaces
    }

    deinit {
        namespaces?.endUse(of: namespace.name)
    }
}

/// The databases of a server, each with a backend and files of its own.
///
/// A namespace is opened by the first request that may write to it or listens to it, and stays open
/// until another one needs its place while nothing uses it: one on disk that is idle, or one
/// without data. Reads of a namespace that does not exist create nothing.
final class Namespaces: Sendable {
    private struct Entry {
        let namespace: Namespace
        /// The address of the client that opened it; nil for the server itself.
        let opener: String?
        /// The folder; nil in memory.
        let folder: String?
        /// True if the folder was created by this opening; it is removed if nothing is ever written.
        let isNew: Bool
        var uses = 0
        var lastUse: Duration
    }

    private struct State {
        var open: [String: Entry] = [:]
        var isClosed = false
    }

    let configuration: RealtimeServerConfiguration
    /// The check of users' tokens.
    let tokens: ClientTokens
    private let rules: Mutex<ConfiguredRules>
    private let now: @Sendable () -> Duration
    private let gauge = Gauge(label: "larder_realtime_namespaces")
    private let state = Mutex(State())
    /// The end of everything, once it has begun.
    private let closing = Mutex<Task<Result<Void, LarderError>, Never>?>(nil)
    /// Namespaces are opened and closed one at a time.
    let openers = WorkPool("larder.realtime.open", limit: 1)

    /// - Parameter now: the time on a monotonic clock.
    init(
        _ configuration: RealtimeServerConfiguration,
        now: @escaping @Sendable () -> Duration = { ContinuousClock.now - Namespaces.start }
    ) {
        self.configuration = configuration
        rules = Mutex(configuration.rules)
        tokens = ClientTokens(secret: configuration.token, keys: configuration.authKeys)
        self.now = now
    }

    private static let start = ContinuousClock.now

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// The number of open namespaces.
    var count: Int { state.withLock { $0.open.count } }

    // MARK: Use

    /// Opens a namespace, or returns the open one.
    ///
    /// - Throws: `resourceExhausted` if too many are open; `unavailable` once closed;
    ///   `invalidArgument` for a name that is empty or too long; and as opening a backend throws.
    func use(_ name: String) async throws(LarderError) -> NamespaceUse {
        if let use = try opened(name) { return use }
        let opener = CallOrigin.current?.connection.address
        return try await openers.run { () throws(LarderError) in try self.open(name, for: opener) }
    }

    /// Like ``use(_:)`` for reading: an empty database stands for one that does not exist.
    func useForReading(_ name: String) async throws(LarderError) -> NamespaceUse {
        if let use = try opened(name) { return use }
        let opener = CallOrigin.current?.connection.address
        return try await openers.run { () throws(LarderError) in
            if try self.opened(name) == nil, try !self.exists(name) {
                let backend = RealtimeBackend(self.backendConfiguration(of: name))
                return NamespaceUse(Namespace(name, backend), of: nil)
            }
            return try self.open(name, for: opener)
        }
    }

    /// The use of a namespace if it is open.
    func opened(_ name: String) throws(LarderError) -> NamespaceUse? {
        let namespace = try state.withLock { (state) throws(LarderError) -> Namespace? in
            guard !state.isClosed else {
                throw LarderError(realtime: .unavailable, "the server is stopping")
            }
            guard let place = state.open.index(forKey: name) else { return nil }
            state.open.values[place].uses += 1
            return state.open.values[place].namespace
        }
        return namespace.map { NamespaceUse($0, of: self) }
    }

    fileprivate func endUse(of name: String) {
        state.withLock { state in
            guard let place = state.open.index(forKey: name) else { return }
            state.open.values[place].uses -= 1
            state.open.values[place].lastUse = now()
        }
    }

    // MARK: Settings

    /// Replaces the security rules; the rules that were stored for a namespace hold as long as its
    /// configured ones are the same.
    ///
    /// - Returns: true if rules have changed.
    func replaceRules(with new: ConfiguredRules) async throws(LarderError) -> Bool {
        // No namespace is opened meanwhile.
        try await openers.run { () throws(LarderError) in
            let isOpen = self.configuration.isOpen
            let old = self.rules.withLock { rules in
                defer { rules = new }
                return rules
            }
            for namespace in self.state.withLock({ $0.open.values.map(\.namespace) }) {
                let rules = new.rules(of: namespace.name, isOpen: isOpen)
                guard rules?.text != old.rules(of: namespace.name, isOpen: isOpen)?.text else {
                    continue
                }
                namespace.backend.replaceConfiguredRules(with: rules)
            }
            return old.texts != new.texts
        }
    }

    /// Replaces the token of administrators, and ends the authentication of all sessions; their
    /// clients authenticate again.
    ///
    /// - Returns: false if it is the same token, or if there is none.
    func replaceToken(with token: String) -> Bool {
        guard tokens.replaceSecret(with: token) else { return false }
        let open = state.withLock { $0.open.values.map(\.namespace) }
        for namespace in open { namespace.backend.expireTokens() }
        return true
    }

    // MARK: Opening

    /// Opens a namespace; only on the thread that does so.
    private func open(_ name: String, for opener: String?) throws(LarderError) -> NamespaceUse {
        if let use = try opened(name) { return use }
        // Names are checked in memory, too, for consistency with those on disk.
        let path = try path(of: name)
        try makeRoom(for: opener)
        let (backend, isNew) = try makeBackend(name, at: path)
        let namespace = Namespace(name, backend)
        let count = state.withLock { state in
            state.open[name] = Entry(
                namespace: namespace, opener: opener, folder: path, isNew: isNew, uses: 1,
                lastUse: now())
            return state.open.count
        }
        gauge.record(count)
        return NamespaceUse(namespace, of: self)
    }

    /// Opens the backend of a namespace in its folder, which is created if it does not exist.
    func makeBackend(
        _ name: String, at path: String?
    ) throws(LarderError) -> (RealtimeBackend, isNew: Bool) {
        let configuration = backendConfiguration(of: name)
        guard let path else { return (RealtimeBackend(configuration), false) }
        let isNew = !FileManager.default.fileExists(atPath: path)
        if isNew { try Self.makeDirectory(path) }
        let backend = try RealtimeBackend(configuration, directory: path)
        OpenMarker(inFolder: path).set(name)
        return (backend, isNew)
    }

    /// The security rules of a namespace's configuration; nil to allow everything.
    private func configuredRules(of name: String) -> SecurityRules? {
        rules.withLock { $0.rules(of: name, isOpen: configuration.isOpen) }
    }

    private func backendConfiguration(of name: String) -> RealtimeBackendConfiguration {
        var backend = RealtimeBackendConfiguration()
        backend.securityRules = configuredRules(of: name)
        backend.tokens = { [tokens] in tokens.check($0) }
        // The databases of Firestore have as many.
        backend.mapBytes = DatabaseCapacity.mapBytes(databases: 2 * configuration.namespaces)
        return backend
    }

    /// The folder of a namespace; nil in memory.
    func path(of name: String) throws(LarderError) -> String? {
        let folder = try FolderName.folder(of: name)
        guard case .directory(let directory) = configuration.storage else { return nil }
        return "\(directory)/\(folder)"
    }

    /// The directory of temporary files: that of the databases; the system's for those in memory.
    func temporaryDirectory() throws(LarderError) -> String {
        guard case .directory(let directory) = configuration.storage else {
            return FileManager.default.temporaryDirectory.path
        }
        if !FileManager.default.fileExists(atPath: directory) { try Self.makeDirectory(directory) }
        return directory
    }

    private static func makeDirectory(_ path: String) throws(LarderError) {
        if let reason = DataDirectory.create(path) {
            throw LarderError(
                realtime: .unavailable, "the directory '\(path)' cannot be created: \(reason)")
        }
    }

    /// True if a namespace that is not open has a folder.
    private func exists(_ name: String) throws(LarderError) -> Bool {
        try path(of: name).map { FileManager.default.fileExists(atPath: $0) } ?? false
    }

    // MARK: Closing

    /// Closes a namespace if a limit is reached.
    ///
    /// Blocks the thread that opens namespaces, so that the closed one cannot be opened meanwhile.
    ///
    /// - Parameter opener: the address of the client for which a namespace is opened.
    private func makeRoom(for opener: String?) throws(LarderError) {
        if let opener {
            try makeRoom(
                below: configuration.namespacesPerAddress, opener: opener,
                "of one client address", "--databases-per-address")
        }
        try makeRoom(below: configuration.namespaces, opener: nil, "in total", "--databases")
    }

    /// Closes a namespace unless fewer are open than a limit: an idle one on disk, else one without
    /// data.
    ///
    /// - Parameter opener: the address of the client whose namespaces are meant; nil for all.
    private func makeRoom(
        below limit: Int, opener: String?, _ whose: String, _ option: String
    ) throws(LarderError) {
        let open = state.withLock { state in
            state.open.values.filter { opener == nil || $0.opener == opener }
        }
        guard open.count >= limit else { return }
        let latest = now() - configuration.idleTime
        let isOnDisk = configuration.storage != .memory
        let unused = open.filter { $0.uses == 0 }
            .sorted { $0.lastUse < $1.lastUse }
            .filter { isOnDisk || !hasOwnRules($0.namespace) }
        if isOnDisk {
            for idle in unused.prefix(while: { $0.lastUse <= latest }) where try close(idle) {
                return
            }
        }
        for empty in unused where empty.namespace.backend.tree(of: empty.namespace.name).isEmpty {
            // Another one, if this one was taken into use meanwhile.
            if try close(empty) { return }
        }
        throw LarderError(
            realtime: .resourceExhausted,
            "the limit of \(limit) open namespaces \(whose) is reached and none can be closed: "
                + "raise it with larderd \(option)")
    }

    /// True if the namespace has other rules than the configured ones.
    private func hasOwnRules(_ namespace: Namespace) -> Bool {
        namespace.backend.securityRules(of: namespace.name)?.text
            != configuredRules(of: namespace.name)?.text
    }

    /// Closes a namespace.
    ///
    /// - Returns: false if it is used by now.
    private func close(_ entry: Entry) throws(LarderError) -> Bool {
        let name = entry.namespace.name
        let isTaken = state.withLock { state in
            guard state.open[name]?.uses == 0 else { return false }
            return state.open.removeValue(forKey: name) != nil
        }
        guard isTaken else { return false }
        try Self.closeAndWait(entry.namespace.backend)
        leaveFolder(of: entry)
        return true
    }

    /// Closes a backend; blocks until it is closed.
    static func closeAndWait(_ backend: RealtimeBackend) throws(LarderError) {
        let result = Mutex<Result<Void, LarderError>>(.success(()))
        let isClosed = DispatchSemaphore(value: 0)
        backend.close { outcome in
            result.withLock { $0 = outcome }
            isClosed.signal()
        }
        isClosed.wait()
        try result.withLock { $0 }.get()
    }

    /// Removes the marker of a closed namespace, or its folder if it is new, without data and without
    /// rules of its own.
    private func leaveFolder(of entry: Entry) {
        guard let folder = entry.folder else { return }
        let namespace = entry.namespace
        if entry.isNew, namespace.backend.tree(of: namespace.name).isEmpty,
            !hasOwnRules(namespace)
        {
            try? FileManager.default.removeItem(at: URL(fileURLWithPath: folder))
        } else {
            OpenMarker(inFolder: folder).remove()
        }
    }

    /// Closes all namespaces; later requests are refused.
    ///
    /// Sessions end, and what they have left for their ends is written; then trees are exported if
    /// the configuration says so. Each call returns when that is done, also in a cancelled task.
    ///
    /// - Throws: the first error, with the messages of all.
    func close() async throws(LarderError) {
        let task = closing.withLock { task in
            let closing = task ?? Task { await closeAll() }
            task = closing
            return closing
        }
        try await task.value.get()
    }

    private func closeAll() async -> Result<Void, LarderError> {
        // After namespaces that are being opened.
        let open: [Entry] = await withLoopContinuation { continuation in
            openers.perform { continuation.resume(returning: self.takeAll()) }
        }
        var failures: [LarderError] = await withTaskGroup(of: LarderError?.self) { group in
            for entry in open {
                group.addTask {
                    do throws(LarderError) {
                        try await entry.namespace.backend.close()
                        self.leaveFolder(of: entry)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { failures, error in
                if let error { failures.append(error) }
            }
        }
        failures += await withLoopContinuation { continuation in
            openers.perform {
                continuation.resume(returning: self.exportAll(closed: open.map(\.namespace)))
            }
        }
        guard let first = failures.first else { return .success(()) }
        guard failures.count > 1 else { return .failure(first) }
        let messages = failures.map(\.message).joined(separator: "; ")
        return .failure(LarderError(realtime: first.kind, messages, cause: first))
    }

    private func takeAll() -> [Entry] {
        state.withLock { state in
            defer { (state.open, state.isClosed) = ([:], true) }
            return Array(state.open.values)
        }
    }
}
