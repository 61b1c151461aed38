import Dispatch
import Foundation
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderWire
import Metrics
import Synchronization

/// The databases of a server.
///
/// Each is opened by the first call that may write to it, and stays open until it is idle, or has no
/// documents, and another database needs its place. Reads of a database that does not exist create
/// nothing.
final class Databases: Sendable {
    typealias Failures = [(id: DatabaseID, error: LarderError)]

    private struct Entry {
        let names: DatabaseNames
        let backend: Backend
        /// The address of the client that opened it; nil for the server itself.
        let opener: String?
        /// The folder, if it was created by this opening; removed if nothing is ever written.
        let newFolder: String?
        var lastUse: Duration

        /// Removes the new folder of a closed database to which nothing was written.
        func removeUnusedFolder() {
            guard let newFolder, !backend.hasCommitted else { return }
            let url = URL(fileURLWithPath: newFolder)
            try? FileManager.default.removeItem(at: url)
            // That of the project, if it is empty.
            rmdir(url.deletingLastPathComponent().path)
        }
    }

    private struct State {
        var open: [DatabaseID: Entry] = [:]
        /// The last used one: most calls use the same database as the previous call, so that
        /// comparing names avoids a lookup.
        var latest: Entry?
        /// A backend without documents, whose store is read in place of databases that do not exist.
        var empty: Backend?
        /// Where they are exported to when they are closed; nil for nowhere.
        var exportTarget: ExportTarget?
        /// The task that closes them, once requested.
        var closing: Task<Failures, Never>?
    }

    /// The largest number of commits whose snapshots are kept for reads in the past: each takes up
    /// a reader of the store.
    private static let historyCount = 1_000

    let storage: ServerConfiguration.Storage
    private let limit: Int
    private let limitPerAddress: Int
    private let ledger: MemoryLedger?
    private let idleTime: Duration
    private let documentBytes: Int
    private let rules: @Sendable (DatabaseID) -> Backend.Rules
    private let now: @Sendable () -> Duration
    private let gauge = Gauge(label: "larder_server_databases")
    private let state = Mutex(State())
    /// Databases are opened one at a time.
    let openers = WorkPool("larder.server.open", limit: 1)
    let exporters = WorkPool("larder.server.export", limit: 4)

    /// - Parameters:
    ///   - limit: the maximum number of open databases.
    ///   - limitPerAddress: the maximum number of those that clients of one address have opened.
    ///   - ledger: counts the memory that their transactions occupy; nil for no limit.
    ///   - idleTime: the idle time after which a database may be closed for another; databases in
    ///     memory stay open.
    ///   - documentBytes: the maximum size of a document.
    ///   - rules: the rules of each database.
    ///   - now: the time on a monotonic clock.
    init(
        _ storage: ServerConfiguration.Storage, limit: Int, limitPerAddress: Int = .max,
        ledger: MemoryLedger? = nil,
        idleTime: Duration = .seconds(600), documentBytes: Int = 1_048_576,
        rules: @escaping @Sendable (DatabaseID) -> Backend.Rules = { _ in { _ in .allow } },
        now: @escaping @Sendable () -> Duration = Databases.uptime
    ) {
        self.storage = storage
        self.limit = limit
        self.limitPerAddress = limitPerAddress
        self.ledger = ledger
        self.idleTime = idleTime
        self.documentBytes = documentBytes
        self.rules = rules
        self.now = now
    }

    /// The time since the first call.
    static func uptime() -> Duration { ContinuousClock.now - start }

    private static let start = ContinuousClock.now

    /// The number of open databases.
    var count: Int { state.withLock { $0.open.count } }

    /// Opens a database, or returns the open one.
    ///
    /// - Throws: `resourceExhausted` if too many are open; `unavailable` once closed;
    ///   `invalidArgument` for a name that is too long; and as opening a backend throws.
    func database(_ id: DatabaseID) async throws(LarderError) -> Backend {
        if let entry = try opened(id) { return entry.backend }
        let opener = CallOrigin.current?.connection.address
        return try await openers.run { () throws(LarderError) in try self.open(id, for: opener) }
    }

    /// Like ``database(_:)`` for reading: an empty database stands for one that does not exist.
    func readableDatabase(_ id: DatabaseID) async throws(LarderError) -> Backend {
        if let entry = try opened(id) { return entry.backend }
        let opener = CallOrigin.current?.connection.address
        return try await openers.run { () throws(LarderError) in
            if try self.opened(id) == nil, try !self.exists(id) { return try self.absent(id) }
            return try self.open(id, for: opener)
        }
    }

    /// Opens a database; only on the thread that opens databases.
    private func open(_ id: DatabaseID, for opener: String?) throws(LarderError) -> Backend {
        if let entry = try opened(id) { return entry.backend }
        let configuration = try configuration(of: id)
        try makeRoom(for: opener)
        let newFolder = try Self.makeDirectory(configuration.location)
        let backend = try Backend(configuration)
        let count = state.withLock { state in
            state.open[id] = Entry(
                names: DatabaseNames(id), backend: backend, opener: opener, newFolder: newFolder,
                lastUse: now())
            return state.open.count
        }
        gauge.record(count)
        return backend
    }

    /// True if a database that is not open has a folder.
    private func exists(_ id: DatabaseID) throws(LarderError) -> Bool {
        guard case .directory(let path) = try configuration(of: id).location else { return false }
        return FileManager.default.fileExists(atPath: path)
    }

    /// An empty database in place of one that does not exist: its rules decide as they would if it
    /// existed.
    private func absent(_ id: DatabaseID) throws(LarderError) -> Backend {
        var configuration = try configuration(of: id)
        (configuration.ledger, configuration.historyCount) = (nil, 0)
        return try Backend(configuration, readingStoreOf: try empty())
    }

    private func empty() throws(LarderError) -> Backend {
        if let empty = state.withLock(\.empty) { return empty }
        var configuration = BackendConfiguration(project: "")
        configuration.mapBytes = DatabaseCapacity.mapBytes(databases: .max)
        let backend = try Backend(configuration)
        state.withLock { $0.empty = backend }
        return backend
    }

    /// Determines where the documents are written to when the databases are closed, unless that has
    /// begun.
    func export(to target: ExportTarget) {
        state.withLock { $0.exportTarget = target }
    }

    /// Closes all databases: acknowledged writes are on disk, later calls are refused.
    ///
    /// After ``export(to:)`` the documents of all databases are written to files. Further calls wait
    /// for the first and return the same.
    ///
    /// - Returns: the errors, by database.
    func close() async -> [(id: DatabaseID, error: LarderError)] {
        let closing = state.withLock { state in
            let closing = state.closing ?? Task { await self.closeAll() }
            state.closing = closing
            return closing
        }
        return await closing.value
    }

    private func closeAll() async -> Failures {
        // After databases being opened.
        let closed = try? await openers.run { () throws(LarderError) in
            self.state.withLock { state in
                defer { (state.open, state.latest, state.empty) = ([:], nil, nil) }
                return (open: state.open, empty: state.empty, target: state.exportTarget)
            }
        }
        guard let closed else { return [] }
        try? await closed.empty?.close()
        var failures = await withTaskGroup(of: Failures.self) { group in
            for (id, entry) in closed.open {
                group.addTask {
                    var failures: Failures = []
                    if let target = closed.target {
                        do throws(LarderError) {
                            try await self.export(entry.backend, of: id, to: target)
                        } catch {
                            failures.append((id, error))
                        }
                    }
                    do throws(LarderError) {
                        try await entry.backend.close()
                        entry.removeUnusedFolder()
                    } catch {
                        failures.append((id, error))
                    }
                    return failures
                }
            }
            return await group.reduce(into: Failures()) { $0 += $1 }
        }
        if let target = closed.target {
            failures += await exportClosed(Set(closed.open.keys), to: target)
        }
        return failures
    }

    /// Creates the directory of a database.
    ///
    /// - Returns: the directory; nil if it exists.
    private static func makeDirectory(_ location: BackendConfiguration.Location)
        throws(LarderError) -> String?
    {
        guard case .directory(let path) = location else { return nil }
        guard !FileManager.default.fileExists(atPath: path) else { return nil }
        if let reason = DataDirectory.create(path) {
            throw LarderError(
                .unavailable, "the directory '\(path)' cannot be created: \(reason)")
        }
        return path
    }

    /// The database of a resource name; nil if it is not open.
    ///
    /// - Throws: `invalidArgument` for a malformed name; `unavailable` once closed.
    func opened(_ resource: String) throws(LarderError) -> (DatabaseNames, Backend)? {
        let known = state.withLock { state -> (DatabaseNames, Backend)? in
            guard let latest = state.latest, latest.names.include(resource) else { return nil }
            state.latest?.lastUse = now()
            return (latest.names, latest.backend)
        }
        if let known { return known }
        return try opened(try DatabaseID(ofResource: resource)).map { ($0.names, $0.backend) }
    }

    private func opened(_ id: DatabaseID) throws(LarderError) -> Entry? {
        try state.withLock { state throws(LarderError) in
            Self.noteLatest(&state)
            if let place = state.open.index(forKey: id) {
                state.open.values[place].lastUse = now()
                state.latest = state.open.values[place]
                return state.latest
            }
            guard state.closing == nil else {
                throw LarderError(.unavailable, "the server is stopping")
            }
            return nil
        }
    }

    /// Records the last use of the latest database, and releases it.
    private static func noteLatest(_ state: inout State) {
        if let latest = state.latest { state.open[latest.names.id]?.lastUse = latest.lastUse }
        state.latest = nil
    }

    /// Closes a database if a limit is reached: an idle one, or one without documents.
    ///
    /// Blocks the thread that opens databases, so that the closed one cannot be opened meanwhile.
    ///
    /// - Parameter opener: the address of the client for which a database is opened.
    private func makeRoom(for opener: String?) throws(LarderError) {
        if let opener {
            try makeRoom(below: limitPerAddress, opener: opener) {
                LarderError(
                    .resourceExhausted,
                    "the limit of \(limitPerAddress) open databases of one client address is reached "
                        + "and none can be closed: raise it with larderd --databases-per-address")
            }
        }
        try makeRoom(below: limit, opener: nil) {
            LarderError(
                .resourceExhausted,
                "the limit of \(limit) open databases is reached and none can be closed: raise it "
                    + "with larderd --databases")
        }
    }

    /// Closes a database unless fewer are open than a limit.
    ///
    /// - Parameter opener: the address of the client whose databases are meant; nil for all.
    private func makeRoom(
        below limit: Int, opener: String?, _ refusal: () -> LarderError
    ) throws(LarderError) {
        for (id, entry) in unused(at: limit, opener) {
            if close(id, entry, entry.backend.closeIfUnused) { return }
            state.withLock { $0.open[id]?.lastUse = now() }
        }
        let open = open(at: limit, opener)
        for (id, entry) in open where close(id, entry, entry.backend.closeIfEmpty) {
            entry.removeUnusedFolder()
            return
        }
        guard open.isEmpty else { throw refusal() }
    }

    /// Closes a database by a function which refuses to close one that is used.
    ///
    /// - Returns: whether it is closed.
    private func close(
        _ id: DatabaseID, _ entry: Entry,
        _ close: (@escaping @Sendable (Result<Bool, LarderError>) -> Void) -> Void
    ) -> Bool {
        // Used in the meantime, it stays open.
        let isTaken = state.withLock { state in
            Self.noteLatest(&state)
            guard state.open[id]?.lastUse == entry.lastUse else { return false }
            return state.open.removeValue(forKey: id) != nil
        }
        guard isTaken else { return false }
        let closed = Mutex(false)
        let isAnswered = DispatchSemaphore(value: 0)
        close { result in
            closed.withLock { $0 = (try? result.get()) ?? true }
            isAnswered.signal()
        }
        isAnswered.wait()
        if closed.withLock({ $0 }) { return true }
        state.withLock { $0.open[id] = entry }
        return false
    }

    /// The idle databases, longest unused first; none below a limit.
    private func unused(at limit: Int, _ opener: String?) -> [(DatabaseID, Entry)] {
        guard case .directory = storage else { return [] }
        let latest = now() - idleTime
        return open(at: limit, opener).filter { $0.1.lastUse <= latest }
    }

    /// The open databases, longest unused first; none below a limit.
    private func open(at limit: Int, _ opener: String?) -> [(DatabaseID, Entry)] {
        state.withLock { state in
            Self.noteLatest(&state)
            let counted = state.open.filter { opener == nil || $0.value.opener == opener }
            guard counted.count >= limit else { return [] }
            return counted.sorted { $0.value.lastUse < $1.value.lastUse }
                .map { ($0.key, $0.value) }
        }
    }

    func configuration(of id: DatabaseID) throws(LarderError) -> BackendConfiguration {
        // Names are checked for databases in memory, too, for consistency with those on disk.
        let folder = try DatabaseFolder(id)
        var configuration =
            switch storage {
            case .memory: BackendConfiguration(project: id.project)
            case .directory(let directory):
                BackendConfiguration(
                    project: id.project, location: .directory("\(directory)/\(folder.path)"))
            }
        configuration.database = id.database
        configuration.historyCount = Self.historyCount
        configuration.rules = rules(id)
        configuration.mapBytes = DatabaseCapacity.mapBytes(databases: limit)
        configuration.ledger = ledger
        configuration.maxDocumentBytes = documentBytes
        return configuration
    }
}

// MARK: - Folders

/// The folder of a database below the server's directory: one for the project, and in it one for
/// the database, see ``LarderHTTP/FolderName``.
struct DatabaseFolder: Hashable {
    /// The path below the server's directory.
    let path: String

    /// The folder of a database.
    ///
    /// - Throws: `invalidArgument` for names that are too long for a file system.
    init(_ id: DatabaseID) throws(LarderError) {
        path = "\(try FolderName.folder(of: id.project))/\(try FolderName.folder(of: id.database))"
    }
}
