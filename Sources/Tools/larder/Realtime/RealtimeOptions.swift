import ArgumentParser
import Dispatch
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import Logging

/// The options of the commands of `larder rtdb`: the store, the backend and the output format.
struct RealtimeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the backend in this directory (default: the folder 'backend' of the store, if "
                + "it exists).", valueName: "dir"))
    var backend: String?

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if backend?.isEmpty == true { throw ValidationError("--backend needs a directory.") }
    }

    var json: Bool { options.json }

    var directory: String { options.directory }

    /// Opens the database and its backend, runs the body and closes both.
    ///
    /// - Parameters:
    ///   - subject: the subject of invalid-argument errors.
    ///   - importing: whether a missing store and its backend are created, and commits are not
    ///     flushed one by one.
    func withDatabase<Result>(
        about subject: String = "", importing: Bool = false,
        _ body: (RealtimeSession) async throws -> Result
    ) async throws -> Result {
        let folder = directory + "/backend"
        let isUsed = System.exists(folder) || importing && !options.hasStore
        return try await options.withRealtimeDatabase(
            backend: backend ?? (isUsed ? folder : nil), about: subject, importing: importing,
            body)
    }
}

/// An open database, with a backend or without one.
struct RealtimeSession {
    let database: Database
    /// True if a backend acknowledges writes.
    let hasBackend: Bool

    /// Waits until a write is committed locally and, with a backend, acknowledged.
    ///
    /// - Parameters:
    ///   - path: the path as given on the command line, the subject of errors.
    ///   - hint: what is in the store if the write is invalid.
    /// - Returns: the ID of the write.
    /// - Throws: a data error if the write is invalid.
    @discardableResult
    func finish(
        _ write: DatabaseWrite, about path: String, hint: String = "nothing was written"
    ) async throws -> Int64? {
        do throws(DatabaseError) {
            let id = try await write.committedLocally()
            if hasBackend { try await write.acknowledged() }
            return id
        } catch {
            guard error.kind == .invalidArgument else { throw error }
            throw ToolError(.badData, "'\(path)': \(error.error.message)", hint: hint)
        }
    }
}

extension StoreOptions {
    /// True if the directory has a store.
    fileprivate var hasStore: Bool { System.exists(directory + "/data.mdb") }

    /// Opens the database of an application, runs the body and closes it.
    ///
    /// - Parameters:
    ///   - backend: the directory of the backend; nil for none, which leaves writes pending.
    ///   - subject: the subject of invalid-argument errors.
    ///   - importing: whether missing stores are created, and commits are not flushed one by one.
    func withRealtimeDatabase<Result>(
        backend directoryOfBackend: String?, about subject: String = "", importing: Bool = false,
        _ body: (RealtimeSession) async throws -> Result
    ) async throws -> Result {
        guard importing || hasStore else {
            throw ToolError(
                .noInput, "there is no store at '\(directory)'",
                hint: "'larder rtdb import FILE --store \(directory)' creates one; --store or "
                    + "LARDER_STORE names another")
        }
        let backend = try directoryOfBackend.map { path in
            try openBackend(path, createsStore: importing)
        }
        do {
            let database = try openDatabase(backend, importing: importing)
            do {
                let result = try await body(
                    RealtimeSession(database: database, hasBackend: backend != nil))
                try await database.close()
                try await backend?.close()
                return result
            } catch {
                try? await database.close()
                throw error
            }
        } catch {
            try? await backend?.close()
            guard let error = error as? DatabaseError else { throw error }
            let isAboutStore = error.kind != .invalidArgument || subject.isEmpty
            throw ToolError(error.error, about: isAboutStore ? "store '\(directory)'" : subject)
        }
    }

    private func openBackend(_ path: String, createsStore: Bool) throws -> RealtimeBackend {
        guard createsStore || System.exists(path + "/data.mdb") else {
            throw ToolError(
                .noInput, "there is no backend at '\(path)'",
                hint: "'larder rtdb import FILE --backend \(path)' creates one")
        }
        do throws(LarderError) {
            return try RealtimeBackend(directory: path)
        } catch {
            throw Self.openingFailed(error, "the backend '\(path)'", exists: System.exists(path))
        }
    }

    private func openDatabase(_ backend: RealtimeBackend?, importing: Bool) throws -> Database {
        var configuration = DatabaseConfiguration(directory: directory)
        configuration.backend = backend?.connection
        if backend == nil {
            // The application sets the size; inspecting a store must not evict anything.
            configuration.cacheSize = .unlimited
        }
        // Only the application has the handlers of its transactions.
        configuration.transactionHandlerWait = .seconds(1_000_000_000)
        configuration.durability = importing ? .lastCommitAtRisk : .everyCommit
        configuration.callbackQueue = DispatchQueue(label: "larder.tool")
        configuration.logger.logLevel = .error
        do {
            return try Database(configuration: configuration)
        } catch let error as DatabaseError {
            throw Self.openingFailed(
                error.error, "the store '\(directory)'", exists: System.exists(directory))
        }
    }

    private static func openingFailed(
        _ error: LarderError, _ place: String, exists: Bool
    ) -> ToolError {
        if error.condition == .io && !exists {
            return ToolError(
                .cannotCreate, "cannot create \(place): \(error.message)",
                hint: "name another directory")
        }
        return ToolError(error, about: "cannot open \(place)")
    }
}
