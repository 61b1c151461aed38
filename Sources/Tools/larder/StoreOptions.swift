import ArgumentParser
import Foundation
import Larder
import LarderDocumentStore
import LarderModel

/// The options of every command: the store and the output format.
struct StoreOptions: ParsableArguments {
    static let defaultDirectory = "larder-store"

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The store's directory (default: $LARDER_STORE, else \(defaultDirectory)).",
            valueName: "dir"))
    var store: String?

    @Flag(help: "Print JSON instead of text.")
    var json = false

    /// The directory: the option, else the environment, else the default.
    var directory: String {
        if let store { return store }
        if let named = ProcessInfo.processInfo.environment["LARDER_STORE"], !named.isEmpty {
            return named
        }
        return Self.defaultDirectory
    }

    mutating func validate() throws {
        if store?.isEmpty == true { throw ValidationError("--store needs a directory.") }
    }

    /// Opens an existing store.
    func open(_ access: StoreConfiguration.Access) throws -> Store {
        var configuration = StoreConfiguration(directory: directory)
        configuration.access = access
        configuration.createsStore = false
        return try open(configuration)
    }

    /// Opens a store; errors name the directory and the remedy.
    ///
    /// A damaged store stays as it is.
    func open(_ configuration: StoreConfiguration) throws -> Store {
        var configuration = configuration
        configuration.recovery = .fail
        return try opening(createsStore: configuration.createsStore) { () throws(LarderError) in
            try Store(configuration)
        }
    }

    /// Runs a closure that opens the store; errors name the directory and the remedy.
    func opening<Opened>(
        createsStore: Bool, _ open: () throws(LarderError) -> Opened
    ) throws -> Opened {
        do throws(LarderError) {
            return try open()
        } catch {
            if error.condition == .noStore {
                throw ToolError(
                    .noInput, "there is no store at '\(directory)'",
                    hint: "'larder import FILE --collection PATH --store \(directory)' creates "
                        + "one; --store or LARDER_STORE names another")
            }
            if createsStore && error.condition == .io && !System.exists(directory) {
                throw ToolError(
                    .cannotCreate, "cannot create the store '\(directory)': \(error.message)",
                    hint: "name another directory with --store")
            }
            throw ToolError(error, about: "cannot open the store '\(directory)'")
        }
    }

    /// Runs a command's body; errors of the store name its directory.
    func describingErrors<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as LarderError {
            throw ToolError(error, about: "store '\(directory)'")
        }
    }
}

/// Parsing of path arguments.
enum PathArgument {
    /// A path: an odd number of segments for a collection, an even one for a document.
    enum Kind {
        case collection(CollectionPath)
        case document(DocumentPath)
    }

    static func either(_ text: String) throws -> Kind {
        let segments = text.utf8.split(separator: UInt8(ascii: "/")).count
        return segments.isMultiple(of: 2)
            ? .document(try document(text)) : .collection(try collection(text))
    }

    static func collection(_ text: String) throws -> CollectionPath {
        do throws(LarderError) {
            return try CollectionPath(text)
        } catch {
            throw ToolError(.usage, error.message, hint: "specify a collection path, e.g. cities")
        }
    }

    static func document(_ text: String) throws -> DocumentPath {
        do throws(LarderError) {
            return try DocumentPath(text)
        } catch {
            throw ToolError(.usage, error.message, hint: "specify a document path, e.g. cities/SF")
        }
    }
}

/// The options of commands that use the database API, which includes pending writes.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The project ID of document references.", valueName: "id"))
    var project: String?

    @Option(help: ArgumentHelp("The database ID of document references.", valueName: "name"))
    var database: String?

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        for (name, value) in [("--project", project), ("--database", database)] {
            if let value, value.isEmpty || value.utf8.contains(UInt8(ascii: "/")) {
                throw ValidationError("\(name) requires a name without '/'.")
            }
        }
    }

    var json: Bool { options.json }

    var directory: String { options.directory }

    var databaseID: DatabaseID {
        let defaults = FirestoreConfiguration(directory: directory)
        return DatabaseID(
            project: project ?? defaults.project, database: database ?? defaults.database)
    }

    /// Opens the database, runs the body and closes it.
    ///
    /// - Parameters:
    ///   - access: the access that the body needs.
    ///   - subject: the subject of invalid-argument errors.
    ///   - createsStore: whether a missing store is created.
    func withDatabase<Result>(
        _ access: FirestoreConfiguration.Access, about subject: String = "",
        createsStore: Bool = false, _ body: (Firestore) async throws -> Result
    ) async throws -> Result {
        try await options.withDatabase(
            access, databaseID, about: subject, createsStore: createsStore, body)
    }
}

extension StoreOptions {
    /// Opens the database, runs the body and closes it.
    ///
    /// - Parameters:
    ///   - access: the access that the body needs.
    ///   - databaseID: the database of references; nil if it is irrelevant.
    ///   - subject: the subject of invalid-argument errors.
    ///   - createsStore: whether a missing store is created.
    func withDatabase<Result>(
        _ access: FirestoreConfiguration.Access, _ databaseID: DatabaseID? = nil,
        about subject: String = "", createsStore: Bool = false,
        _ body: (Firestore) async throws -> Result
    ) async throws -> Result {
        let firestore = try openDatabase(access, databaseID, createsStore)
        do {
            let result = try await body(firestore)
            try await firestore.terminate()
            return result
        } catch let error as LarderError {
            try? await firestore.terminate()
            let isAboutStore = error.kind != .invalidArgument || subject.isEmpty
            throw ToolError(error, about: isAboutStore ? "store '\(directory)'" : subject)
        } catch {
            try? await firestore.terminate()
            throw error
        }
    }

    private func openDatabase(
        _ access: FirestoreConfiguration.Access, _ databaseID: DatabaseID?, _ createsStore: Bool
    ) throws -> Firestore {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.access = access
        // The cache size is set by the application; inspecting a store must not evict anything.
        configuration.cacheSize = .unlimited
        configuration.isMaintenance = true
        if let databaseID {
            configuration.project = databaseID.project
            configuration.database = databaseID.database
        }
        return try opening(createsStore: createsStore) { () throws(LarderError) in
            guard createsStore || System.exists(directory + "/data.mdb") else {
                throw LarderError(.notFound, "there is no store", condition: .noStore)
            }
            return try Firestore(configuration: configuration)
        }
    }
}
