public import Foundation
public import LarderModel
import LarderPlanning
import LarderStorage
import LarderSync
import Logging

extension Firestore {
    /// Says whether queries that scan make indexes; nil for a store in memory.
    public var persistentCacheIndexManager: PersistentCacheIndexManager? {
        guard case .directory = connection.configuration.storage else { return nil }
        return PersistentCacheIndexManager(self)
    }

    /// Makes these the indexes of the cache, in the JSON of the Firebase CLI's
    /// `firestore.indexes.json`.
    ///
    /// Equal ones stay, others go, and new ones are filled in the background. The handler is called
    /// when the definitions are stored, not when they are filled.
    public func setIndexConfiguration(
        _ json: String, completion: (((any Error)?) -> Void)? = nil
    ) {
        configureIndexes(
            Result { () throws(LarderError) in try IndexConfiguration(json: json) },
            callbackQueue.completion(completion))
    }

    /// Makes these the indexes of the cache, in the JSON of the Firebase CLI's
    /// `firestore.indexes.json`.
    ///
    /// Equal ones stay, others go, and new ones are filled in the background.
    ///
    /// - Throws: `invalidArgument` for what is no such JSON; what the store reports.
    public nonisolated(nonsending) func setIndexConfiguration(_ json: String) async throws {
        let configuration = Result { () throws(LarderError) in
            try IndexConfiguration(json: json)
        }
        try await answer { configureIndexes(configuration, $0) }
    }

    /// Makes these the indexes of the cache, in JSON from a stream; it is read at once.
    public func setIndexConfiguration(
        _ stream: InputStream, completion: (((any Error)?) -> Void)? = nil
    ) {
        configureIndexes(
            Result { () throws(LarderError) in
                try IndexConfiguration(json: try stream.text())
            },
            callbackQueue.completion(completion))
    }

    /// Makes these the indexes of the cache, in JSON from a stream; it is read at once.
    ///
    /// - Throws: `invalidArgument` for what is no such JSON; what the stream or the store
    ///   reports.
    public nonisolated(nonsending) func setIndexConfiguration(_ stream: InputStream) async throws {
        try await setIndexConfiguration(try stream.text())
    }

    /// Makes these the indexes of the cache.
    ///
    /// Equal ones stay, others go, and new ones are filled in the background; queries use them from
    /// when they are complete.
    ///
    /// - Throws: `invalidArgument` for an index without fields, with more than 16, or with two
    ///   of ``CacheIndex/Field/Order/contains``; what the store reports.
    public nonisolated(nonsending) func setIndexes(
        _ indexes: [CacheIndex]
    ) async throws(LarderError) {
        var definitions: [IndexDefinition] = []
        for index in indexes { definitions.append(try index.definition) }
        let configuration = IndexConfiguration(definitions)
        try await answer { configureIndexes(.success(configuration), $0) }
    }

    /// The indexes of the cache as they are now; on the calling thread.
    ///
    /// - Throws: `failedPrecondition` for a terminated database; what the store or its opening
    ///   reports.
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
    /// All that is left in the stream, as text.
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

/// Says whether queries that scan make indexes by themselves.
///
/// The calls return at once; what goes wrong is logged.
public final class PersistentCacheIndexManager: Sendable {
    private let firestore: Firestore

    init(_ firestore: Firestore) {
        self.firestore = firestore
    }

    /// Has queries that scan much and find little make indexes for the next ones, until the
    /// database is terminated or the program ends; the indexes stay.
    public func enableIndexAutoCreation() {
        enableIndexAutoCreation(acrossStarts: false)
    }

    /// Has queries that scan much and find little make indexes for the next ones, with
    /// `acrossStarts` also after the next start, until ``disableIndexAutoCreation()``.
    public func enableIndexAutoCreation(acrossStarts: Bool) {
        firestore.withClient(logged("enableIndexAutoCreation")) {
            $0.enableAutomaticIndexes(persistently: acrossStarts, completion: $1)
        }
    }

    /// Has no more indexes made, nor after the next start; those there are stay and are used.
    public func disableIndexAutoCreation() {
        firestore.withClient(logged("disableIndexAutoCreation")) {
            $0.disableAutomaticIndexes(completion: $1)
        }
    }

    /// Removes every index, those that were configured, too.
    public func deleteAllIndexes() {
        firestore.withClient(logged("deleteAllIndexes")) { $0.deleteAllIndexes(completion: $1) }
    }

    private func logged(_ name: String) -> Completion<Void> {
        let logger = firestore.logger
        return { result in
            if case .failure(let error) = result { logger.error("\(name): \(error.message)") }
        }
    }
}
