import BenchmarkMeasuring
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync

/// The cost of applying a snapshot of the backend: documents that have changed and documents that
/// are new, with three listeners, in comparison with storing as many documents.
struct AppliedSnapshots {
    let client: MeasuredClient
    let figures: Figures
    private let builder: RecordBuilder
    private let size = 500
    private let passes = 4

    init(_ directory: String, _ figures: Figures) throws(LarderError) {
        client = try MeasuredClient(directory: directory)
        builder = try RecordBuilder()
        self.figures = figures
    }

    func callAsFunction(rounds: Int) throws(LarderError) {
        let cities = Query(.collection(try CollectionPath("cities")))
        let state = try FieldPath("state")
        var some = cities
        some.limit = .first(1_000)
        let states = Set(
            try client.cached(some).compactMap { document -> String? in
                if case .string(let name)? = document[state] { name } else { nil }
            })
        let wanted = Value.string("CA")
        var (many, one, top) = (cities, cities, cities)
        many.filters = [
            .field(
                FieldFilter(
                    state, .in, .array([wanted] + states.sorted().prefix(9).map { .string($0) })))
        ]
        one.filters = [.field(FieldFilter(state, .equal, wanted))]
        top.explicitOrders = [Order(try FieldPath("population"), isDescending: true)]
        top.limit = .first(50)
        var documents: [[Document]] = []
        for query in [many, one, top] { documents.append(try client.cached(query)) }
        _ = client.listen(to: [many, one, top], with: documents)
        let ids = [many, one].compactMap { client.backend.targetID($0.target) }
        let outside = Set(documents[2].map(\.path))
        let material = documents[0].filter { !outside.contains($0.path) }
        let inOne = Set(documents[1].map(\.path))
        for round in -1..<rounds {
            for kind in [Kind.changed, .new] {
                for side in [Figure.Side.larder, .reference] {
                    var elapsed = Elapsed()
                    for pass in 0..<passes {
                        let number = (round + 1) * passes + pass
                        let version = client.backend.newVersion()
                        let documents = try changed(
                            material, kind, number, side, version)
                        let start = Elapsed.now
                        switch side {
                        case .larder:
                            let told = client.told.count
                            client.backend.say(
                                documents.map { reading, original in
                                    .document(
                                        reading,
                                        targetIDs: inOne.contains(original) ? ids : [ids[0]],
                                        removedTargetIDs: [])
                                } + [ScriptedBackend.snapshot(version)])
                            client.told.wait(for: told + 2)
                        case .reference: try store(documents.map(\.reading))
                        }
                        let end = Elapsed.now
                        elapsed.wall += end.wall - start.wall
                        elapsed.processor += end.processor - start.processor
                        client.settle()
                    }
                    guard round >= 0 else { continue }
                    figures.add("apply.\(kind.rawValue)", side, elapsed, units: size * passes)
                }
            }
        }
        try client.close()
    }

    private enum Kind: String { case changed, new }

    /// The next state of documents at the backend, in the order of their names.
    private func changed(
        _ material: [Document], _ kind: Kind, _ number: Int, _ side: Figure.Side,
        _ version: SnapshotVersion
    ) throws(LarderError) -> [(reading: DocumentReading, original: DocumentPath)] {
        let step = max(1, material.count / size)
        // Recently written documents are cheaper to write again: each side has its own.
        let offset = 2 * number + (side == .larder ? 0 : 1)
        var changed: [(reading: DocumentReading, original: DocumentPath)] = []
        for position in 0..<min(size, material.count) {
            let original = material[(position * step + offset) % material.count]
            var fields = original.fields
            if case .integer(let population)? = fields["population"] {
                fields["population"] = .integer(population / 2 + Int64(number))
            }
            let path =
                kind == .changed
                ? original.path
                : try DocumentPath("\(original.path)-\(side.rawValue)-\(number)")
            changed.append(
                (
                    DocumentReading(
                        path: path,
                        contents: .found(try builder.encode(fields), createTime: nil),
                        version: version), original.path
                ))
        }
        return changed.sorted { $0.reading.path < $1.reading.path }
    }

    private func store(_ readings: [DocumentReading]) throws(LarderError) {
        try client.store.write { transaction throws(LarderError) in
            for reading in readings {
                guard case .found(let record, _) = reading.contents else { continue }
                try transaction.put(record, at: reading.path, version: reading.version)
            }
        }
    }
}

/// The latency of a listener's first snapshot of cached documents of a known target, in comparison
/// with running the query alone.
struct FirstSnapshots {
    let directory: String
    let figures: Figures

    func callAsFunction(rounds: Int) throws(LarderError) {
        let client = try MeasuredClient(directory: directory)
        let query = Query(.collection(try CollectionPath("cities")))
        let documents = try client.cached(query)
        for registration in client.listen(to: [query], with: [documents]) { registration.remove() }
        client.settle()
        for round in -1..<rounds {
            let target = client.told.count + 1
            let start = Elapsed.now
            let registration = client.listen(to: query)
            client.told.wait(for: target)
            let listened = Elapsed.now
            let count = try client.client.run(query).documents.count
            let ran = Elapsed.now
            guard count == documents.count else {
                throw LarderError(.internal, "\(count) of \(documents.count) documents found")
            }
            registration.remove()
            client.settle()
            guard round >= 0 else { continue }
            figures.add("first", .larder, listened - start, units: 1)
            figures.add("first", .reference, ran - listened, units: 1)
        }
        try client.close()
    }
}
