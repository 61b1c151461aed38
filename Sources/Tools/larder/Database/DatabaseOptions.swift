import ArgumentParser
import Larder
import LarderModel

/// What commands take that work on documents as an application does, with pending writes in them.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The project that references name.", valueName: "id"))
    var project: String?

    @Option(help: ArgumentHelp("The database that references name.", valueName: "name"))
    var database: String?

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        for (name, value) in [("--project", project), ("--database", database)] {
            if let value, value.isEmpty || value.utf8.contains(UInt8(ascii: "/")) {
                throw ValidationError("\(name) takes a name without '/'.")
            }
        }
    }

    /// Whether to print JSON.
    var json: Bool { options.json }

    /// The store's directory.
    var directory: String { options.directory }

    /// The database whose documents references name.
    var databaseID: DatabaseID {
        let defaults = FirestoreConfiguration(directory: directory)
        return DatabaseID(
            project: project ?? defaults.project, database: database ?? defaults.database)
    }

    /// Opens the store's database, runs the body with it and closes it.
    ///
    /// - Parameters:
    ///   - access: whether the body writes.
    ///   - subject: what errors of what was asked are about.
    ///   - createsStore: whether a store is made where there is none.
    func withDatabase<Result>(
        _ access: FirestoreConfiguration.Access, about subject: String = "",
        createsStore: Bool = false, _ body: (Firestore) async throws -> Result
    ) async throws -> Result {
        try await options.withDatabase(
            access, databaseID, about: subject, createsStore: createsStore, body)
    }
}

extension StoreOptions {
    /// Opens the store's database, runs the body with it and closes it.
    ///
    /// - Parameters:
    ///   - access: whether the body writes.
    ///   - databaseID: what references name; nil where it does not matter.
    ///   - subject: what errors of what was asked are about.
    ///   - createsStore: whether a store is made where there is none.
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
        // A budget is a matter of the application; a tool that looks on evicts nothing.
        configuration.cacheSize = .unlimited
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
