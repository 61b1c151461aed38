import Foundation
import LarderModel
import LarderStorage

/// A store in a directory of its own below the temporary one, with an index on `state`; removed
/// when it goes.
final class CityStore: Sendable {
    let store: Store
    let index: UInt32
    let count: Int

    private let directory: URL

    /// A store of that many documents.
    init(count: Int, durability: StoreConfiguration.Durability = .lastCommitAtRisk) throws {
        directory = FileManager.default.temporaryDirectory
            .appending(path: "larder-benchmarks-\(UUID().uuidString)")
        var configuration = StoreConfiguration(directory: directory.path)
        configuration.durability = durability
        let store = try Store(configuration)
        let path = try FieldPath("state")
        index = try store.write { transaction throws(LarderError) in
            try transaction.defineIndex(
                IndexDefinition(collectionGroup: "cities", segments: [.init(path)]))
        }
        self.store = store
        self.count = count
        for start in stride(from: 0, to: count, by: 500) {
            try put(try Self.records(start..<min(start + 500, count)))
        }
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(at: directory)
    }

    /// A document ready to be stored.
    typealias Prepared = (path: DocumentPath, record: Record)

    /// Documents ready to be stored.
    static func records(_ range: Range<Int>) throws -> [Prepared] {
        let builder = try RecordBuilder()
        return try range.map {
            (try CityGenerator.path($0), try builder.encode(try CityGenerator.fields($0)))
        }
    }

    /// Stores documents in one commit.
    func put(_ documents: [Prepared]) throws(LarderError) {
        let version = SnapshotVersion(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        try store.write { transaction throws(LarderError) in
            for (path, record) in documents {
                try transaction.put(record, at: path, version: version)
            }
        }
    }

    /// Paths of documents in an order that looks random.
    func scatteredPaths(_ wanted: Int) throws -> [DocumentPath] {
        try (0..<wanted).map { try CityGenerator.path($0 &* 7_919 % count) }
    }
}
