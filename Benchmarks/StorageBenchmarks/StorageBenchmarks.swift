import Benchmark
import Foundation
import LarderDocumentStore
import LarderModel
import Workload

// What the Swift face costs on top of the C core: the same operations as the C program's, whose
// figures stand beside those of raw LMDB and SQLite. Times are of one document (per thousand:
// the scaling factor) or of one query, as the names say.

let benchmarks: @Sendable () -> Void = {
    // 0: one iteration, to see that each works.
    let seconds = ProcessInfo.processInfo.environment["BENCHMARK_SECONDS"].flatMap { Int($0) } ?? 2
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .cpuTotal, .throughput, .peakMemoryResident],
        warmupIterations: seconds > 0 ? 2 : 0, maxDuration: .seconds(seconds),
        maxIterations: seconds > 0 ? 1_000 : 1)

    let perThousand = Benchmark.Configuration(scalingFactor: .kilo)

    Benchmark("encode a record", configuration: perThousand) { benchmark in
        let builder = try RecordBuilder()
        let fields = try (0..<100).map { try City.fields($0) }
        benchmark.startMeasurement()
        for step in benchmark.scaledIterations {
            blackHole(try builder.encode(fields[step % fields.count]))
        }
    }

    Benchmark("decode a record", configuration: perThousand) { benchmark in
        let records = try City.records(0..<100)
        benchmark.startMeasurement()
        for step in benchmark.scaledIterations {
            blackHole(records[step % records.count].record.fields)
        }
    }

    let durabilities: [(String, StoreConfiguration.Durability)] = [
        ("every commit on disk", .everyCommit), ("last commit at risk", .lastCommitAtRisk),
    ]
    for (name, durability) in durabilities {
        Benchmark(
            "ingest 10,000, 500 a commit, \(name)",
            configuration: .init(
                maxDuration: .seconds(2 * seconds), maxIterations: seconds > 0 ? 10 : 1)
        ) { benchmark in
            let city = try CityStore(count: 0, durability: durability)
            let batches = try stride(from: 0, to: 10_000, by: 500).map {
                try City.records($0..<$0 + 500)
            }
            benchmark.startMeasurement()
            for batch in batches { try City.put(batch, in: city.store) }
            benchmark.stopMeasurement()
        }
    }

    for count in [10_000, 100_000] { benchmarkReads(count) }
}

/// Reads of one store, built once for all of them.
private func benchmarkReads(_ count: Int) {
    let shared = Shared(count)
    let perThousand = Benchmark.Configuration(scalingFactor: .kilo)

    Benchmark("read one field of a document, N = \(count)", configuration: perThousand) {
        benchmark in
        let city = try shared.get()
        let paths = try city.scatteredPaths(1_000)
        let population = PreparedField(try FieldPath("population"))
        benchmark.startMeasurement()
        for step in benchmark.scaledIterations {
            let value = try city.store.read { transaction throws(LarderError) in
                try transaction.withDocument(at: paths[step]) { entry throws(LarderError) in
                    try entry.record.withValue(at: population) { $0.integer }
                }
            }
            blackHole(value)
        }
    }

    Benchmark("read and copy a document, N = \(count)", configuration: perThousand) { benchmark in
        let city = try shared.get()
        let paths = try city.scatteredPaths(1_000)
        benchmark.startMeasurement()
        for step in benchmark.scaledIterations {
            let document = try city.store.read { transaction throws(LarderError) in
                try transaction.document(at: paths[step])
            }
            blackHole(document)
        }
    }

    Benchmark("scan with an equality test, N = \(count)") { benchmark in
        let city = try shared.get()
        let cities = try CollectionPath("cities")
        benchmark.startMeasurement()
        blackHole(try matches(in: .collection(cities), of: city))
    }

    Benchmark("indexed equality, 2 % of N = \(count)") { benchmark in
        let city = try shared.get()
        let bound = ScanBound.orderBytes(
            try EncodedValue(.string(City.wantedState)).orderBytes())
        let source = DocumentSource.index(
            city.index, in: try CollectionPath("cities"), from: bound, to: bound)
        benchmark.startMeasurement()
        blackHole(try matches(in: source, of: city))
    }
}

/// The documents of a source in the wanted state.
private func matches(in source: DocumentSource, of city: CityStore) throws -> Int {
    let state = PreparedField(try FieldPath("state"))
    let wanted = try EncodedValue(.string(City.wantedState))
    var count = 0
    try city.store.read { transaction throws(LarderError) in
        try transaction.documents(in: source) { entry throws(LarderError) in
            if try entry.record.isEqual(state, to: wanted) { count += 1 }
            return .continue
        }
    }
    guard count > city.count / 100 else { throw LarderError(.internal, "\(count) matches") }
    return count
}

/// A store that is built when first asked for.
private final class Shared: @unchecked Sendable {
    // The benchmarks of one process run one after the other.
    private let count: Int
    private var store: CityStore?

    init(_ count: Int) { self.count = count }

    func get() throws -> CityStore {
        if let store { return store }
        let built = try CityStore(count: count)
        store = built
        return built
    }
}

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
