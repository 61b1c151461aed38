public import Foundation
import LarderDocumentStore
public import LarderModel
import LarderPlanning
import LarderSync
import Logging

extension Firestore {
    /// Controls automatic index creation; nil for a store in memory.
    public var persistentCacheIndexManager: PersistentCacheIndexManager? {
        guard case .directory = connection.configuration.storage else { return nil }
        return PersistentCacheIndexManager(self)
    }

    /// Replaces the indexes of the cache, given as JSON in the format of the Firebase CLI's
    /// `firestore.indexes.json`.
    ///
    /// Equal indexes are kept, others are dropped, and new ones are built in the background. The
    /// handler is called when the definitions are stored, before the indexes are built; without a
    /// handler, errors are logged.
    public func setIndexConfiguration(
        _ json: String, completion: (((any Error)?) -> Void)? = nil
    ) {
        configureIndexes(
            Result { () throws(LarderError) in try IndexConfiguration(json: json) },
            self.completion(of: "setIndexConfiguration", completion))
    }

    /// Replaces the indexes of the cache, given as JSON in the format of the Firebase CLI's
    /// `firestore.indexes.json`.
    ///
    /// Equal indexes are kept, others are dropped, and new ones are built in the background.
    ///
    /// - Throws: `invalidArgument` for invalid JSON; errors of the store.
    public nonisolated(nonsending) func setIndexConfiguration(_ json: String) async throws {
        let configuration = Result { () throws(LarderError) in
            try IndexConfiguration(json: json)
        }
        try await answer { configureIndexes(configuration, $0) }
    }

    /// Replaces the indexes of the cache, given as JSON from a stream, which is read synchronously.
    ///
    /// Without a handler, errors are logged.
    public func setIndexConfiguration(
        _ stream: InputStream, completion: (((any Error)?) -> Void)? = nil
    ) {
        configureIndexes(
            Result { () throws(LarderError) in
                try IndexConfiguration(json: try stream.text())
            },
            self.completion(of: "setIndexConfiguration", completion))
    }

    /// Replaces the indexes of the cache, given as JSON from a stream, which is read synchronously.
    ///
    /// - Throws: `invalidArgument` for invalid JSON; errors of the stream and of the store.
    public nonisolated(nonsending) func setIndexConfiguration(_ stream: InputStream) async throws {
        try await setIndexConfiguration(try stream.text())
    }

    /// Replaces the indexes of the cache.
    ///
    /// Equal indexes are kept, others are dropped, and new ones are built in the background;
    /// queries use them once they are complete.
    ///
    /// - Throws: `invalidArgument` for an index without fields, with more than 16 fields, or with
    ///   two of ``CacheIndex/Field/Order/contains``; errors of the store.
    public nonisolated(nonsending) func setIndexes(
        _ indexes: [CacheIndex]
    ) async throws(LarderError) {
        let configuration = IndexConfiguration(
            try indexes.map { index throws(LarderError) in try index.definition })
        try await answer { configureIndexes(.success(configuration), $0) }
    }

    /// The current indexes of the cache; runs on the calling thread.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; errors of the store.
    public func indexes() throws(LarderError) -> [CacheIndexState] {
        try connection.client().indexes().map(CacheIndexState.init)
    }

    private func configureIndexes(
        _ configuration: Result<IndexConfiguration, LarderError>, _ done: @escaping Completion<Void>
    ) {
        withClient(done) { client, done in
            switch configuration {
            case .success(let configuration):
                client.configureIndexes(configuration, completion: done)
            case .failure(let error): done(.failure(error))
            }
        }
    }
}

extension InputStream {
    fileprivate func text() throws(LarderError) -> String {
        if streamStatus == .notOpen { open() }
        defer { close() }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(&buffer, maxLength: buffer.count)
            guard count >= 0 else {
                throw LarderError(
                    .unavailable, "The index configuration cannot be read.", cause: streamError)
            }
            if count == 0 { break }
            bytes.append(contentsOf: buffer.prefix(count))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .invalidArgument("The index configuration is not UTF-8.")
        }
        return text
    }
}

/// Controls the automatic creation of indexes by queries.
///
/// Methods return immediately; errors are logged.
public final class PersistentCacheIndexManager: Sendable {
    private let firestore: Firestore

    init(_ firestore: Firestore) {
        self.firestore = firestore
    }

    /// Enables automatic index creation for selective queries that scan many documents, until the
    /// database is terminated or the program ends; created indexes are kept.
    public func enableIndexAutoCreation() {
        enableIndexAutoCreation(acrossStarts: false)
    }

    /// Enables automatic index creation for selective queries that scan many documents; with
    /// `acrossStarts`, it stays enabled across restarts until ``disableIndexAutoCreation()``.
    public func enableIndexAutoCreation(acrossStarts: Bool) {
        firestore.withClient(firestore.loggingErrors(of: "enableIndexAutoCreation")) {
            $0.enableAutomaticIndexes(persistently: acrossStarts, completion: $1)
        }
    }

    /// Disables automatic index creation, also across restarts; existing indexes are kept and used.
    public func disableIndexAutoCreation() {
        firestore.withClient(firestore.loggingErrors(of: "disableIndexAutoCreation")) {
            $0.disableAutomaticIndexes(completion: $1)
        }
    }

    /// Deletes all indexes, including configured ones.
    public func deleteAllIndexes() {
        firestore.withClient(firestore.loggingErrors(of: "deleteAllIndexes")) {
            $0.deleteAllIndexes(completion: $1)
        }
    }
}

extension PersistentCacheIndexManager: Hashable, ObjectComparable {
    /// True if both are of the same database.
    public static func == (
        left: PersistentCacheIndexManager, right: PersistentCacheIndexManager
    ) -> Bool {
        left.firestore === right.firestore
    }

    /// Hashes the database's identity.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(firestore))
    }
}
