import Foundation
import Larder
import LarderModel
import LarderStorage
import LarderTestSupport

/// Random operations on a database with indexes, the same on one without, and on
/// ``DifferentialModel``; what they answer must be the same.
final class DifferentialRun {
    /// What a run has been through, to see that it was not about nothing.
    struct Coverage: Sendable {
        var operations = 0
        var queries = 0
        var found = 0
        var plans: [String: Int] = [:]

        mutating func add(_ other: Coverage) {
            operations += other.operations
            queries += other.queries
            found += other.found
            plans.merge(other.plans, uniquingKeysWith: +)
        }
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    var random: SeededRandom
    var coverage = Coverage()
    let world: DifferentialWorld
    let directory: TemporaryDirectory?
    var indexed: Firestore
    let plain: Firestore
    var model = DifferentialModel()
    var listeners: [DifferentialListener] = []
    /// The batches of both databases that are pending, in order.
    var batches: [(indexed: Int64, plain: Int64)] = []
    let queue = DispatchQueue(label: "larder.tests.differential")

    /// A run on a store in a directory, with documents in the cache from the beginning, or in
    /// memory.
    init(_ random: SeededRandom, onDisk: Bool) async throws {
        self.random = random
        directory = onDisk ? try TemporaryDirectory() : nil
        world = try DifferentialWorld()
        if let directory {
            for path in world.paths where !self.random.oneIn(3) {
                model.cache(path, self.random.oneIn(6) ? nil : self.random.planningFields())
            }
            for name in ["indexed", "plain"] { try Self.fill(directory.file(name), model) }
        }
        indexed = try Firestore(configuration: Self.configuration(directory, "indexed", queue))
        plain = try Firestore(configuration: Self.configuration(directory, "plain", queue))
        if self.random.oneIn(2) { try await changeIndexes() }
    }

    static func configuration(
        _ directory: TemporaryDirectory?, _ name: String, _ queue: DispatchQueue
    ) -> FirestoreConfiguration {
        var configuration =
            directory.map { FirestoreConfiguration(directory: $0.file(name)) } ?? .inMemory
        configuration.durability = .lastCommitAtRisk
        configuration.callbackQueue = queue
        return configuration
    }

    /// Puts documents into a store as a backend would have them there.
    private static func fill(_ directory: String, _ model: DifferentialModel) throws {
        let store = try Store(StoreConfiguration(directory: directory))
        try store.write { (transaction) throws(LarderError) in
            for (path, fields) in model.cached {
                let version = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
                if let fields {
                    try transaction.put(try Record(fields), at: path, version: version)
                } else {
                    try transaction.putAbsent(at: path, version: version)
                }
            }
        }
        try store.close()
    }

    func end() async throws {
        for listener in listeners { listener.remove() }
        try await indexed.terminate()
        try await plain.terminate()
    }

    /// Makes random operations, at least so many.
    func run(_ count: Int) async throws {
        while coverage.operations < count { try await step() }
        try await checkEverything()
    }

    private func step() async throws {
        switch random.below(100) {
        case 0..<30: try await write()
        case 30..<36: try await commitBatch()
        case 36..<40: try await commitTransaction()
        case 40..<44: try await cancel()
        case 44..<80: try await runQuery()
        case 80..<87: try await runAggregate()
        case 87..<93: try await readDocument()
        case 93..<95: try await changeListeners()
        case 95..<97: try await changeIndexes()
        case 97..<98: try await evict()
        default:
            if random.oneIn(5) { try await reopen() }
        }
    }

    func fail(_ text: String) throws -> Never {
        throw Violation(description: "\(text)\nafter \(coverage.operations) operations; \(random)")
    }
}
