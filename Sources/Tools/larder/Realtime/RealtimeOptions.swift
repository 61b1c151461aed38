import ArgumentParser
import Dispatch
import LarderCore
import LarderDocumentStore
import LarderRealtime
import LarderRealtimeBackend
import Logging

/// The options of the commands of `larder rtdb`: the store, the backend and the output format.
///
/// The store is that of a client, or a backend's own, such as a namespace's folder in the data
/// directory of a server that is stopped.
struct RealtimeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use the backend in this directory (default: the folder 'backend' of the store, if "
                + "it exists).", valueName: "dir"))
    var backend: String?

    @Option(
        help: ArgumentHelp(
            "The namespace in the backend (default: its only one, else "
                + "\(RealtimeBackend.defaultNamespace)).", valueName: "name"))
    var namespace: String?

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        if backend?.isEmpty == true { throw ValidationError("--backend needs a directory.") }
        if namespace?.isEmpty == true { throw ValidationError("--namespace needs a name.") }
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
        try await options.withRealtimeDatabase(
            try place(importing: importing), about: subject, importing: importing, body)
    }

    /// Where the data is.
    private func place(importing: Bool) throws -> RealtimePlace {
        if let backend {
            return .client(backend: backend, namespace: try namespace(in: backend))
        }
        if options.hasStore, try options.kind().role == .backend {
            return .backend(try namespace(in: directory))
        }
        let folder = directory + "/backend"
        if System.exists(folder) || importing && !options.hasStore {
            return .client(backend: folder, namespace: try namespace(in: folder))
        }
        if let namespace {
            throw ToolError(
                .usage, "--namespace \(namespace): the store '\(directory)' has no backend",
                hint: "only backends have namespaces; --backend names one")
        }
        return .client(backend: nil, namespace: "")
    }

    /// The namespace of a backend that the command is about.
    private func namespace(in backend: String) throws -> String {
        var store = StoreOptions()
        store.store = backend
        let names = store.hasStore ? try store.kind().backendTrees : []
        let name =
            namespace ?? (names.count == 1 ? names[0] : RealtimeBackend.defaultNamespace)
        guard names.isEmpty || names.contains(name) else {
            let list = names.map { "'\($0)'" }.joined(separator: ", ")
            throw ToolError(
                .noInput, "the backend '\(backend)' has no namespace '\(name)'",
                hint: "it has \(list); name one with --namespace")
        }
        return name
    }
}

/// Where the data of a command of `larder rtdb` is.
enum RealtimePlace {
    /// In the store of a client, with a backend in another directory or without one.
    case client(backend: String?, namespace: String)
    /// In a namespace of a backend, whose store the options name.
    case backend(String)
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
    /// - Returns: the ID of the write; nil if it is not queued.
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
    ///   - place: where the data is; without a backend writes stay pending, or are final in a local
    ///     database.
    ///   - subject: the subject of invalid-argument errors.
    ///   - importing: whether missing stores are created, and commits are not flushed one by one.
    func withRealtimeDatabase<Result>(
        _ place: RealtimePlace, about subject: String = "", importing: Bool = false,
        _ body: (RealtimeSession) async throws -> Result
    ) async throws -> Result {
        guard importing || hasStore else {
            let isServers = System.exists(directory + "/.realtime")
            throw ToolError(
                .noInput, "there is no store at '\(directory)'",
                hint: isServers
                    ? "it has a server's data: name a namespace, --store '\(directory)/.realtime/NAME'"
                    : "'larder rtdb import FILE --store \(directory)' creates one; --store or "
                        + "LARDER_STORE names another")
        }
        let (directoryOfBackend, namespace) =
            switch place {
            case .client(let backend, let namespace): (backend, namespace)
            case .backend(let namespace): (directory, namespace)
            }
        let backend = try directoryOfBackend.map { path in
            try openBackend(path, createsStore: importing)
        }
        do {
            var storage = DatabaseConfiguration.Storage.directory(directory)
            if case .backend = place { storage = .memory }
            let database = try openDatabase(
                storage, backend?.connection(to: namespace), importing: importing)
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

    private func openDatabase(
        _ storage: DatabaseConfiguration.Storage, _ backend: RealtimeRemoteConnection?,
        importing: Bool
    ) throws -> Database {
        var configuration = DatabaseConfiguration(storage: storage)
        configuration.backend = backend
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
