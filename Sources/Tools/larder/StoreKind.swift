import Larder
import LarderBackend
import LarderCore
import LarderDocumentStore
import LarderModel
import LarderRealtimeStore

/// The role of a store, for commands that write or evict.
struct StoreKind {
    /// The recorded role, or the one that the contents imply; nil if it is unknown.
    let role: StoreRole?
    /// The names of the trees of a backend.
    let backendTrees: [String]

    /// The name of the tree in the store of a client.
    private static let clientTree = "database"

    /// Reads the role; stores of earlier versions are known as a backend's by what is in them.
    init(_ transaction: borrowing ReadTransaction) throws(LarderError) {
        let names = try transaction.trees().map(\.name)
        let isOfBackend =
            try transaction.isOfBackend() || !names.isEmpty && !names.contains(Self.clientTree)
        role = try transaction.role() ?? (isOfBackend ? .backend : nil)
        backendTrees = role == .backend ? names : []
    }

    init(_ store: Store) throws(LarderError) {
        self = try store.read { (transaction) throws(LarderError) in try StoreKind(transaction) }
    }

    var isOnlyCopy: Bool { role?.isOnlyCopy ?? true }

    /// The role in a message, after "the store is".
    var text: String {
        role?.text ?? "of an earlier version, which did not record whether it is a cache"
    }
}

extension StoreOptions {
    /// Reads the role of the store.
    func kind() throws -> StoreKind {
        let store = try open(.readOnly)
        return try describingErrors {
            let kind = try StoreKind(store)
            try store.close()
            return kind
        }
    }

    /// Throws if a command would delete data of which the store may be the only copy.
    ///
    /// - Parameter loss: the data that would be lost, such as "12 documents".
    func refuseLoss(of loss: String, in kind: StoreKind, isForced: Bool) throws {
        guard kind.isOnlyCopy, !isForced else { return }
        throw ToolError(
            .configuration,
            "the store '\(directory)' is \(kind.text): \(loss) may exist nowhere else and would be "
                + "deleted for good", hint: "make a copy with 'larder copy', or delete with --force"
        )
    }
}

/// A database that a command writes to.
struct DocumentSession {
    let firestore: Firestore
    /// True if a backend in this process commits the writes; otherwise they stay pending, or are final
    /// in a local database.
    let hasBackend: Bool
}

extension DatabaseOptions {
    /// Opens the database for a write, runs the body and closes it.
    ///
    /// Writes to the store of a backend are committed by a backend, whose clients see them.
    ///
    /// - Parameter subject: the subject of invalid-argument errors.
    func withWritableDatabase<Result>(
        about subject: String = "", _ body: (DocumentSession) async throws -> Result
    ) async throws -> Result {
        guard try options.kind().role == .backend else {
            return try await withDatabase(.readWrite, about: subject) {
                try await body(DocumentSession(firestore: $0, hasBackend: false))
            }
        }
        var configuration = BackendConfiguration(
            project: databaseID.project, location: .directory(directory))
        configuration.database = databaseID.database
        let backend = try options.opening(createsStore: false) { () throws(LarderError) in
            try Backend(configuration)
        }
        var client = FirestoreConfiguration.inMemory
        client.project = databaseID.project
        client.database = databaseID.database
        client.backend = backend.connection
        do {
            let firestore = try Firestore(configuration: client)
            let result: Result
            do {
                result = try await body(DocumentSession(firestore: firestore, hasBackend: true))
            } catch {
                try? await firestore.terminate()
                throw error
            }
            try await firestore.terminate()
            try await backend.close()
            return result
        } catch {
            try? await backend.close()
            guard let error = error as? LarderError else { throw error }
            let isAboutStore = error.kind != .invalidArgument || subject.isEmpty
            throw ToolError(error, about: isAboutStore ? "store '\(directory)'" : subject)
        }
    }
}
