import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync
import Testing

/// A store in memory with one user's local store, and short words for what tests do with them.
struct LocalStoreFixture {
    let store: Store
    let local: LocalStore

    init(maxDocumentBytes: Int64 = 1_048_576) throws {
        var configuration = StoreConfiguration.inMemory()
        configuration.maxDocumentBytes = maxDocumentBytes
        store = try Store(configuration)
        local = Self.local(store, "alice")
    }

    static func local(_ store: Store, _ user: String) -> LocalStore {
        LocalStore(
            store: store, user: UserID(user), databaseID: DatabaseID(project: "p", database: "d"))
    }

    /// The same local store on a disk that fails at an operation.
    func local(refusing refused: LocalOperation) -> LocalStore {
        LocalStore(store: store, user: local.user, databaseID: local.databaseID) {
            (operation) throws(LarderError) in
            if operation == refused {
                throw LarderError(.unavailable, "the disk fails at '\(operation.rawValue)'")
            }
        }
    }

    @discardableResult
    func write(_ mutations: Mutation...) throws -> (id: Int64, changes: [LocalChange]) {
        try local.write([pending(mutations)])[0].get()
    }

    func pending(
        _ mutations: [Mutation], expecting expectations: [QueuedWrite.Expectation] = []
    ) -> QueuedWrite {
        QueuedWrite(
            mutations: mutations, localWriteTime: Timestamp(seconds: 5, nanoseconds: 0),
            expectations: expectations)
    }

    @discardableResult
    func acknowledge(
        _ batch: (id: Int64, changes: [LocalChange]), at seconds: Int64,
        _ results: [[Value]] = [[]]
    ) throws -> [LocalChange] {
        let version = SnapshotVersion(seconds: seconds)
        let response = CommitResponse(
            commitVersion: version,
            results: results.map { MutationResult(version: version, transformResults: $0) })
        return try local.acknowledge([(batch.id, response)])
    }

    @discardableResult
    func learn(_ path: String, _ fields: MapValue?, at seconds: Int64) throws -> [LocalChange] {
        let version = SnapshotVersion(seconds: seconds)
        return try local.applyRemoteDocuments(
            [
                DocumentReading(
                    path: DocumentPath(path),
                    contents: fields.map { .found(try Record($0), createTime: nil) } ?? .absent,
                    version: version)
            ], readTime: version)
    }

    func view(_ path: String, of user: String = "alice") throws -> Document? {
        try store.read { (transaction) throws(LarderError) in
            try transaction.document(at: DocumentPath(path), asSeenBy: UserID(user))
        }
    }

    func overlay(_ path: String) throws -> OverlayMutation? {
        try store.read { (transaction) throws(LarderError) in
            guard let overlay = try transaction.overlay(at: DocumentPath(path), of: local.user)
            else { return nil }
            return try OverlayMutation(payload: overlay.payload)
        }
    }
}

extension SnapshotVersion {
    init(seconds: Int64) {
        self.init(Timestamp(seconds: seconds, nanoseconds: 0))
    }
}

extension Mutation {
    static func set(_ path: String, _ fields: MapValue) throws -> Mutation {
        Mutation(.set(try Record(fields)), at: try DocumentPath(path))
    }

    static func update(_ path: String, _ fields: MapValue) throws -> Mutation {
        Mutation(
            .patch(try Record(fields), FieldMask(leavesOf: fields)), at: try DocumentPath(path),
            precondition: .exists(true))
    }

    static func increment(_ path: String, _ field: String, by number: Value) throws -> Mutation {
        Mutation(
            .patch(try Record([:]), FieldMask([FieldPath]())), at: try DocumentPath(path),
            transforms: [FieldTransform(try FieldPath(field), .increment(number))])
    }

    static func delete(_ path: String) throws -> Mutation {
        Mutation(.delete, at: try DocumentPath(path))
    }
}
