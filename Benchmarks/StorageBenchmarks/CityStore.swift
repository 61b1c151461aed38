import Foundation
import LarderModel
import LarderStorage
import Workload

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
        try City.fill(store, count: count)
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Paths of documents in an order that looks random.
    func scatteredPaths(_ wanted: Int) throws -> [DocumentPath] {
        try (0..<wanted).map { try DocumentPath(City.path($0 &* 7_919 % count)) }
    }
}
