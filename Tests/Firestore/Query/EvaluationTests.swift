import Foundation
import LarderModel
import LarderQuery
import LarderTestSupport
import Testing

@Suite("Matching and ordering agree with the rules on random documents")
struct EvaluationTests {
    private typealias Candidate = (path: DocumentPath, fields: MapValue)

    private func candidates(_ random: inout SeededRandom, _ count: Int) throws -> [Candidate] {
        var candidates: [DocumentPath: MapValue] = [:]
        for _ in 0..<count { candidates[try random.path()] = random.fields() }
        return candidates.map { ($0.key, $0.value) }.sorted { $0.path < $1.path }
    }

    @Test("which documents match")
    func matching() throws {
        var random = SeededRandom()
        var matched = 0
        for _ in 0..<400 {
            let query = try random.query()
            let naive = NaiveEvaluator(query)
            let matcher = try QueryMatcher(query)
            for (path, fields) in try candidates(&random, 30) {
                let expected = naive.matches(path, fields)
                let found = try matcher.matches(document(path, fields))
                #expect(found == expected, "\(query) on \(path) \(fields); \(random)")
                matched += found ? 1 : 0
            }
        }
        #expect(matched > 200, "random queries match something; \(random)")
    }

    @Test("documents are sorted, and a limit selects the first")
    func ordering() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let query = try random.query()
            let naive = NaiveEvaluator(query)
            let comparator = DocumentComparator(orders: query.orders)
            let matcher = try QueryMatcher(query)
            var expected: [Candidate] = []
            var top = TopDocuments(query.limit?.count, by: comparator)
            var topInPlace = top
            let found = try candidates(&random, 60).filter { naive.matches($0.path, $0.fields) }
            for (path, fields) in found.shuffled(using: &random) {
                expected.append((path, fields))
                let document = try document(path, fields)
                #expect(matcher.matches(document))
                top.offer(document)
                try path.withView { path throws(LarderError) in
                    try document.record?.withView { record throws(LarderError) in
                        try topInPlace.offer(record, at: path) { document }
                    }
                }
            }
            expected.sort(by: naive.isOrdered)
            let paths = expected.prefix(query.limit?.count ?? .max).map(\.path)
            #expect(top.takeSorted().map(\.path) == paths, "\(query); \(random)")
            #expect(topInPlace.takeSorted().map(\.path) == paths, "\(query); \(random)")
            #expect(top.count == 0)
        }
    }

    @Test("the order of documents is total, with and without the ordered fields")
    func totalOrder() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            let comparator = DocumentComparator(orders: try random.query().orders)
            let documents = try candidates(&random, 14).map { try document($0.path, $0.fields) }
            for a in documents {
                #expect(comparator.compare(a, a) == .orderedSame)
                for b in documents {
                    let order = comparator.compare(a, b)
                    #expect(order.rawValue == -comparator.compare(b, a).rawValue, "\(random)")
                    #expect(order != .orderedSame || a.path == b.path, "\(random)")
                    for c in documents
                    where order == .orderedAscending
                        && comparator.compare(b, c) == .orderedAscending
                    {
                        #expect(comparator.compare(a, c) == .orderedAscending, "\(random)")
                    }
                }
            }
        }
    }

    @Test("Bounded memory: a stream of any length leaves as many as the limit")
    func boundedMemory() throws {
        let comparator = DocumentComparator(orders: [Order(.documentID)])
        var top = TopDocuments(3, by: comparator)
        var copies = 0
        for number in 0..<200 {
            let document = try city("\(1000 + number)")
            try document.path.withView { path throws(LarderError) in
                try document.record?.withView { record throws(LarderError) in
                    try top.offer(record, at: path) {
                        copies += 1
                        return document
                    }
                }
            }
            #expect(top.count <= 3)
        }
        #expect(copies == 3)
        #expect(top.takeSorted().map(\.id) == ["1000", "1001", "1002"])
        var none = TopDocuments(0, by: comparator)
        none.offer(try city("a"))
        #expect(none.takeSorted().isEmpty)
    }
}
