import Foundation
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@testable import LarderPlanning

@Suite("every plan returns the results of a naive evaluation")
struct QueryRunnerTests {
    private func fill(_ world: PlanningWorld, _ random: inout SeededRandom, count: Int) throws {
        for number in 0..<count {
            let path = try random.pick(world.collections).document(
                random.oneIn(9) ? "__id\(number + 1)__" : "d\(number)")
            if !random.oneIn(6) { try world.put(path, random.planningFields()) }
            if random.oneIn(5) {
                try world.overlay(path, random.oneIn(4) ? nil : random.planningFields())
            }
        }
    }

    /// Runs every plan that was thought of.
    private func check(_ query: Query, in world: PlanningWorld, _ note: String) throws {
        let expected = NaiveEvaluator(query).documents(among: world.view)
        let result = try world.run(query)
        #expect(
            result.documents.map(\.path) == expected,
            "\(note)\n\(query)\n\(result.execution.description)")
        try checkVisits(of: query, expected, in: world, note)
        let ordering = ResultOrdering(query)
        try world.store.read { transaction throws(LarderError) in
            let choice = try world.runner.plan(query, ordering, in: transaction)
            for candidate in choice.candidates {
                let run = try QueryRun(query, ordering, choice, user: world.user)
                let found = try run.documents(of: candidate.plan, in: transaction)
                #expect(
                    found.map(\.path) == expected, "\(note)\n\(query)\n\(candidate.plan.text())")
            }
        }
    }

    /// Goes through the documents one by one: all of them, the first two, and in any order.
    private func checkVisits(
        of query: Query, _ expected: [DocumentPath], in world: PlanningWorld, _ note: String
    ) throws {
        try world.store.read { transaction throws(LarderError) in
            for count in [Int.max, 2] {
                var visited: [DocumentPath] = []
                try world.runner.forEachDocument(of: query, in: transaction) { document in
                    visited.append(document.path)
                    return visited.count < count ? .continue : .stop
                }
                #expect(visited == Array(expected.prefix(count)), "\(note)\n\(query)")
            }
            guard query.limit == nil else { return }
            var matches: [DocumentPath] = []
            try world.runner.forEachMatch(of: query, in: transaction) { entry in
                matches.append(entry.path)
            }
            #expect(matches.sorted() == expected.sorted(), "\(note)\n\(query)")
        }
    }

    @Test("random queries, documents, overlays and indexes", arguments: 0..<12)
    func differential(round: Int) throws {
        let base = SeededRandom()
        var random = SeededRandom(seed: base.seed &+ UInt64(round) &* 7919)
        let world = try PlanningWorld()
        for _ in 0..<random.below(7) {
            try world.index(random.planningSegments(world.fields))
        }
        try fill(world, &random, count: 60)
        let names =
            world.view.keys.sorted().map(world.reference)
            + [world.reference(try DocumentPath("rooms/d3/sub/x"))]
        for _ in 0..<250 {
            let query = random.planningQuery(world.fields, world.collections, names: names)
            try check(query, in: world, "round \(round), \(base)")
        }
        #expect(try world.store.check().isClean)
    }

    @Test("the random queries reach every kind of plan, and find something")
    func coverage() throws {
        var random = SeededRandom(seed: 42)
        let world = try PlanningWorld()
        for path in world.fields {
            try world.index(IndexDefinition.Segment(path, .ascending))
        }
        try world.index(
            IndexDefinition.Segment(world.fields[0], .descending),
            IndexDefinition.Segment(world.fields[1], .descending))
        try world.index(IndexDefinition.Segment(world.fields[3], .contains))
        try fill(world, &random, count: 400)
        let names = world.view.keys.sorted().map(world.reference)
        var kinds: [QueryExecution.Kind: Int] = [:]
        var (merges, ties, found) = (0, 0, 0)
        for _ in 0..<600 {
            let query = random.planningQuery(world.fields, world.collections, names: names)
            let result = try world.run(query)
            #expect(
                result.documents.map(\.path) == NaiveEvaluator(query).documents(among: world.view),
                "\(query)\n\(result.execution.description)")
            kinds[result.execution.kind, default: 0] += 1
            if result.execution.description.contains("union, in order") { merges += 1 }
            if result.execution.description.contains("ties unsorted") { ties += 1 }
            if result.documents.count > 1 { found += 1 }
        }
        for kind in [
            QueryExecution.Kind.nothing, .documentLookup, .nameRange, .indexScan, .union,
            .intersection, .collectionScan, .groupScan,
        ] {
            #expect(kinds[kind] ?? 0 > 0, "\(kind)")
        }
        #expect(merges > 0 && ties > 0 && found > 150, "\(merges) \(ties) \(found) \(kinds)")
    }

    @Test("random aggregates", arguments: 0..<6)
    func aggregates(round: Int) throws {
        let base = SeededRandom()
        var random = SeededRandom(seed: base.seed &+ UInt64(round) &* 104_729)
        let world = try PlanningWorld()
        for _ in 0..<random.below(7) {
            try world.index(random.planningSegments(world.fields))
        }
        try fill(world, &random, count: 50)
        let names = world.view.keys.sorted().map(world.reference)
        for _ in 0..<150 {
            let query = random.planningQuery(world.fields, world.collections, names: names)
            let path = random.pick(world.fields)
            let note = "round \(round), \(base)\n\(query)"
            let matches = NaiveEvaluator(query).documents(among: world.view).compactMap {
                world.view[$0]
            }
            let count = try world.aggregate([.count], query)
            #expect(
                count.values[.count] == .integer(Int64(matches.count)),
                "\(note)\n\(count.execution.description)")
            let with = NaiveEvaluator(query).documents(aggregating: path, among: world.view)
            let values = with.compactMap { world.view[$0]?.value(at: path) }
            for (aggregate, expected) in [
                (Aggregate.minimum(path), values.min { $0.modelOrder(to: $1) < 0 }),
                (.maximum(path), values.max { $0.modelOrder(to: $1) < 0 }),
            ] {
                let found = try world.aggregate([aggregate], query)
                #expect(
                    found.values[aggregate]?.modelOrder(to: expected ?? .null) == 0,
                    "\(note)\n\(path)\n\(found.execution.description)")
                let both = try world.aggregate([aggregate, .count], query)
                #expect(both.values[aggregate]?.modelOrder(to: expected ?? .null) == 0)
                #expect(both.values[.count] == .integer(Int64(with.count)), "\(note)")
            }
            let numbers = values.compactMap { value -> Double? in
                switch value {
                case .integer(let integer): Double(integer)
                case .double(let double): double
                default: nil
                }
            }
            let figures = try world.aggregate([.sum(path), .average(path)], query).values
            let sum = numbers.reduce(0, +)
            #expect(figures[.sum(path)]?.modelOrder(to: .double(sum)) == 0, "\(note)")
            let average: Value = numbers.isEmpty ? .null : .double(sum / Double(numbers.count))
            #expect(figures[.average(path)]?.modelOrder(to: average) == 0, "\(note)")
        }
    }
}
