import Dispatch
import Foundation
import LarderBackend
import LarderHTTP
import LarderModel
import LarderWire
import Metrics
import Synchronization

/// The databases that a server serves; each is opened when it is asked for first, and stays open
/// until another one needs its place and nobody has asked for it in a while.
final class Databases: Sendable {
    private typealias Failures = [(id: DatabaseID, error: LarderError)]

    private struct Entry {
        let names: DatabaseNames
        let backend: Backend
        /// When it was asked for last.
        var lastUse: Duration
    }

    private struct State {
        var open: [DatabaseID: Entry] = [:]
        /// The one that was asked for last, with when that was: most calls are about the database of
        /// the one before, which its name tells without a look at the others.
        var latest: Entry?
        /// Closes them, since somebody has asked for that.
        var closing: Task<Failures, Never>?
    }

    /// How many of the last commits of a database can be read again.
    private static let historyCount = 32

    private let storage: ServerConfiguration.Storage
    private let limit: Int
    private let idleTime: Duration
    private let now: @Sendable () -> Duration
    private let gauge = Gauge(label: "larder_server_databases")
    private let state = Mutex(State())
    /// One database is opened after the other.
    private let openers = WorkPool("larder.server.open", limit: 1)

    /// No databases yet.
    ///
    /// - Parameters:
    ///   - limit: how many there may be open.
    ///   - idleTime: how long nobody asks for a database before it may be closed for another; in
    ///     memory none is.
    ///   - now: the time on a clock that does not stop.
    init(
        _ storage: ServerConfiguration.Storage, limit: Int, idleTime: Duration = .seconds(600),
        now: @escaping @Sendable () -> Duration = Databases.uptime
    ) {
        self.storage = storage
        self.limit = limit
        self.idleTime = idleTime
        self.now = now
    }

    /// The time since this was asked first.
    static func uptime() -> Duration { ContinuousClock.now - start }

    private static let start = ContinuousClock.now

    /// How many databases are open.
    var count: Int { state.withLock { $0.open.count } }

    /// The database of an id.
    ///
    /// - Throws: `resourceExhausted` where too many are open; `unavailable` once closed;
    ///   `invalidArgument` for a name that cannot be kept; and as opening a backend throws.
    func database(_ id: DatabaseID) async throws(LarderError) -> Backend {
        if let entry = try opened(id) { return entry.backend }
        return try await openers.runInCall { () throws(LarderError) in
            if let entry = try self.opened(id) { return entry.backend }
            let configuration = try self.configuration(of: id)
            try self.makeRoom()
            try Self.makeDirectory(configuration.location)
            let backend = try Backend(configuration)
            let count = self.state.withLock { state in
                state.open[id] = Entry(
                    names: DatabaseNames(id), backend: backend, lastUse: self.now())
                return state.open.count
            }
            self.gauge.record(count)
            return backend
        }
    }

    /// Closes all databases: what was acknowledged is on the disk, what comes later is refused.
    ///
    /// Whoever calls again waits as well, and is told the same.
    ///
    /// - Returns: what went wrong, by database.
    func close() async -> [(id: DatabaseID, error: LarderError)] {
        let closing = state.withLock { state in
            let closing = state.closing ?? Task { await self.closeAll() }
            state.closing = closing
            return closing
        }
        return await closing.value
    }

    private func closeAll() async -> Failures {
        // Behind what is being opened.
        let closed = try? await openers.runInCall { () throws(LarderError) in
            self.state.withLock { state in
                defer { (state.open, state.latest) = ([:], nil) }
                return state.open.mapValues(\.backend)
            }
        }
        return await withTaskGroup(of: Failures.self) { group in
            for (id, backend) in closed ?? [:] {
                group.addTask {
                    do throws(LarderError) {
                        try await backend.close()
                        return []
                    } catch {
                        return [(id, error)]
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    private static func makeDirectory(_ location: BackendConfiguration.Location)
        throws(LarderError)
    {
        guard case .directory(let path) = location else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw LarderError(
                .unavailable, "the directory '\(path)' cannot be made: \(error)", cause: error)
        }
    }

    /// The database that a name of a resource begins with; nil where it is not open.
    ///
    /// - Throws: `invalidArgument` for another name; `unavailable` once closed.
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
            guard state.closing == nil else { throw LarderError(.unavailable, "the server stops") }
            return nil
        }
    }

    /// Writes down when the latest one was asked for, and begins to look for another.
    private static func noteLatest(_ state: inout State) {
        if let latest = state.latest { state.open[latest.names.id]?.lastUse = latest.lastUse }
        state.latest = nil
    }

    /// Closes a database that nobody has asked for in a while, where there is no room for another.
    ///
    /// Runs where databases are opened, and blocks: whoever asks for the one that is closed waits.
    private func makeRoom() throws(LarderError) {
        for (id, entry) in unused() {
            // Asked for meanwhile, it stays.
            let isTaken = state.withLock { state in
                Self.noteLatest(&state)
                guard state.open[id]?.lastUse == entry.lastUse else { return false }
                return state.open.removeValue(forKey: id) != nil
            }
            guard isTaken else { continue }
            let closed = Mutex(false)
            let isAnswered = DispatchSemaphore(value: 0)
            entry.backend.closeIfUnused { result in
                closed.withLock { $0 = (try? result.get()) ?? true }
                isAnswered.signal()
            }
            isAnswered.wait()
            if closed.withLock({ $0 }) { return }
            state.withLock { state in
                state.open[id] = entry
                state.open[id]?.lastUse = now()
            }
        }
        guard count < limit else {
            throw LarderError(
                .resourceExhausted,
                "\(limit) databases are open, which is the limit, and none can be closed for "
                    + "another: larderd --databases allows more")
        }
    }

    /// What may be closed, the longest unused first; nothing where there is room.
    private func unused() -> [(DatabaseID, Entry)] {
        guard case .directory = storage else { return [] }
        let latest = now() - idleTime
        return state.withLock { state in
            Self.noteLatest(&state)
            guard state.open.count >= limit else { return [] }
            return state.open.filter { $0.value.lastUse <= latest }
                .sorted { $0.value.lastUse < $1.value.lastUse }.map { ($0.key, $0.value) }
        }
    }

    private func configuration(of id: DatabaseID) throws(LarderError) -> BackendConfiguration {
        // Names are checked in memory, too, so that moving to a disk changes nothing.
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
        return configuration
    }
}

// MARK: - Folders

/// Where a database is kept below the server's directory: a folder for its project, and one in
/// that for itself.
///
/// Names come from clients. Of letters, digits, `-`, `_`, `(`, `)` and `.` all stay as they are,
/// but for a dot at the beginning; every other byte becomes `%` and two digits. So no name leads
/// out of the directory, and no two names lead to one folder.
struct DatabaseFolder: Hashable {
    /// The path below the server's directory.
    let path: String

    /// File systems end names at 255 bytes.
    private static let maxBytes = 240

    /// The folder of a database.
    ///
    /// - Throws: `invalidArgument` for names that are too long for a file system.
    init(_ id: DatabaseID) throws(LarderError) {
        path = "\(try Self.name(id.project))/\(try Self.name(id.database))"
    }

    private static func name(_ id: String) throws(LarderError) -> String {
        var name = ""
        for (position, byte) in id.utf8.enumerated() {
            if isPlain(byte), byte != UInt8(ascii: ".") || position > 0 {
                name.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                name += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        guard !name.isEmpty, name.utf8.count <= maxBytes else {
            throw LarderError(
                .invalidArgument,
                "the name '\(id.prefix(100))' of a project or database is too long")
        }
        return name
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-_().".utf8.contains(byte)
        }
    }
}
