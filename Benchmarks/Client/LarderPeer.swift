import Foundation
import Larder
import LarderDocumentStore
import LarderModel
import Workload

/// Larder through its public API; only cached documents are stored directly, as a server would.
final class LarderPeer: Sendable {
    let db: Firestore
    let cities: CollectionReference

    init(
        directory: String, durability: FirestoreConfiguration.Durability = .everyCommit
    ) throws {
        var configuration = FirestoreConfiguration(directory: directory)
        configuration.project = "bench"
        configuration.durability = durability
        configuration.cacheSize = .unlimited
        db = try Firestore(configuration: configuration)
        cities = db.collection(City.collection)
    }

    func close() async throws { try await db.terminate() }

    /// Stores the documents of a database before it is opened.
    static func fill(directory: String, count: Int) throws {
        var configuration = StoreConfiguration(directory: directory)
        configuration.durability = .lastCommitAtRisk
        let store = try Store(configuration)
        try City.fill(store, count: count)
        try store.close()
    }

    /// Defines indexes and waits until they are complete.
    func defineIndexes(_ indexes: [CacheIndex]) async throws {
        try await db.setIndexes(indexes)
        while try !db.indexes().allSatisfy(\.isComplete) {
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    static let indexes = [
        CacheIndex(City.collection, [.ascending("state")]),
        CacheIndex(City.collection, [.descending("population")]),
    ]

    // MARK: Reading; returns the number of documents found

    func readPopulation(_ documents: [DocumentReference]) async throws -> Int {
        var found = 0
        for document in documents {
            let snapshot = try await document.getDocument(source: .cache)
            if snapshot.get("population") as? Int != nil { found += 1 }
        }
        return found
    }

    func readData(_ documents: [DocumentReference]) async throws -> Int {
        var found = 0
        for document in documents {
            let snapshot = try await document.getDocument(source: .cache)
            if snapshot.data()?.count == 12 { found += 1 }
        }
        return found
    }

    func references(_ numbers: [Int64]) -> [DocumentReference] {
        numbers.map { cities.document(City.id(Int($0))) }
    }

    func queryState() async throws -> Int {
        try await count(cities.whereField("state", isEqualTo: City.wantedState))
    }

    func mostPopulous(_ limit: Int) async throws -> Int {
        try await count(cities.order(by: "population", descending: true).limit(to: limit))
    }

    func first(_ limit: Int) async throws -> Int { try await count(cities.limit(to: limit)) }

    /// Includes creating the snapshots of the documents.
    private func count(_ query: Query) async throws -> Int {
        try await query.getDocuments(source: .cache).documents.count
    }

    // MARK: Writing

    /// The arguments of `setData`.
    struct Write: @unchecked Sendable {
        let document: DocumentReference
        let fields: [String: Any]  // never changed once it is made, and of values alone
    }

    func writes(_ range: some Sequence<Int>) throws -> [Write] {
        try range.map { number in
            Write(
                document: cities.document(City.id(number)),
                fields: try City.fields(number).dictionary.mapValues(plain))
        }
    }

    private func plain(_ value: Value) -> Any {
        switch value {
        case .boolean(let boolean): boolean
        case .integer(let integer): Int(integer)
        case .double(let double): double
        case .string(let string): string
        case .timestamp(let timestamp): timestamp
        case .geoPoint(let point): point
        case .array(let values): values.map(plain)
        case .map(let map): map.dictionary.mapValues(plain)
        default: db.document("regions/region")
        }
    }

    /// Each write waits until the previous one is on disk.
    static func writeInTurn(_ writes: some Sequence<Write>) async throws {
        for write in writes {
            try await write.document.enqueueSetData(write.fields).committedLocally()
        }
    }

    /// Writes from several tasks, each writing its share sequentially.
    static func write(_ writes: [Write], tasks: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<tasks {
                let share = stride(from: task, to: writes.count, by: tasks).map { writes[$0] }
                group.addTask { try await writeInTurn(share) }
            }
            try await group.waitForAll()
        }
    }

    /// Enqueues all writes; returns when the last one is on disk.
    static func writeTogether(_ writes: [Write]) async throws {
        let handles = writes.map { $0.document.enqueueSetData($0.fields) }
        for handle in handles { try await handle.committedLocally() }
    }
}
