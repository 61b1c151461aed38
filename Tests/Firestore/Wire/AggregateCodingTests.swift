import LarderModel
import LarderQuery
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Aggregations in messages")
struct AggregateCodingTests {
    private let readTime = SnapshotVersion(Timestamp(seconds: 3, nanoseconds: 0))

    private func request(
        _ set: (inout Google_Firestore_V1_StructuredAggregationQuery) -> Void
    ) -> Google_Firestore_V1_RunAggregationQueryRequest {
        var request = Google_Firestore_V1_RunAggregationQueryRequest()
        request.parent = testRoot
        request.structuredAggregationQuery.structuredQuery.from = [.init()]
        request.structuredAggregationQuery.structuredQuery.from[0].collectionID = "c"
        request.structuredAggregationQuery.aggregations = [.init()]
        request.structuredAggregationQuery.aggregations[0].count = .init()
        set(&request.structuredAggregationQuery)
        return request
    }

    @Test("Figures are asked for and answered in order")
    func roundTrip() throws {
        let coder = try testCoder()
        let path = try FieldPath("a", "b c")
        let aggregates: [Aggregate] = [.average(path), .count, .sum(path)]
        let target = Query(.group("c"), limit: .first(3)).target
        let request = try sent(try coder.encode(aggregates, over: target))
        let (named, selection) = try coder.decode(request)
        #expect(named.map(\.aggregate) == aggregates)
        #expect(selection.query.target == target)
        let values: [Value] = [.null, 3, 1.5]
        let response = try sent(try coder.encode(values, of: named, readTime: readTime))
        #expect(try SnapshotVersion(response.readTime) == readTime)
        #expect(try coder.decode(response, count: 3) == values)
        expectError(.internal, "aggregation 3 is missing") {
            _ = try coder.decode(response, count: 4)
        }
    }

    @Test("An order by name that every query has is left out, and one that was asked for is not")
    func orders() throws {
        let coder = try testCoder()
        let (path, name) = (try FieldPath("a"), FieldPath.documentID)
        func orders(_ query: Query) throws -> [String] {
            try coder.encode([.sum(path)], over: query.target)
                .structuredAggregationQuery.structuredQuery.orderBy.map(\.field.fieldPath)
        }
        #expect(try orders(Query(.group("c"))).isEmpty)
        #expect(try orders(Query(.group("c"), orders: [Order(path)])) == ["a"])
        let falling = Order(name, isDescending: true)
        #expect(try orders(Query(.group("c"), orders: [falling])) == ["__name__"])
        let both = Query(.group("c"), orders: [Order(path), falling])
        #expect(try orders(both) == ["a", "__name__"])
    }

    @Test("Figures without a name are counted; a count may stop early")
    func names() throws {
        let coder = try testCoder()
        let request = request {
            $0.aggregations = [.init(), .init(), .init()]
            $0.aggregations[0].count.upTo = Google_Protobuf_Int64Value(7)
            $0.aggregations[1].sum.field.fieldPath = "a"
            $0.aggregations[1].alias = "mine"
            $0.aggregations[2].avg.field.fieldPath = "a"
        }
        let path = try FieldPath("a")
        #expect(
            try coder.decode(request).aggregates == [
                NamedAggregate("field_1", .count, upTo: 7), NamedAggregate("mine", .sum(path)),
                NamedAggregate("field_2", .average(path)),
            ])
    }

    @Test("Aggregations that break a rule are refused, with the reason")
    func refused() throws {
        let coder = try testCoder()
        func refuse(
            _ words: String, at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_StructuredAggregationQuery) -> Void
        ) {
            let message = request(set)
            expectError(.invalidArgument, words, { _ = try coder.decode(message) }, at: location)
        }
        refuse("Only structured aggregation queries") { $0.queryType = nil }
        refuse("Aggregations can not be empty") { $0.aggregations = [] }
        refuse("maximum number of aggregations allowed in an aggregation query is 5. Received: 6") {
            $0.aggregations = Array(repeating: $0.aggregations[0], count: 6)
        }
        refuse("no operator") { $0.aggregations = [.init()] }
        refuse("a count limit of 0") { $0.aggregations[0].count.upTo.value = 0 }
        refuse("not a valid field path") { $0.aggregations[0].sum = .init() }
        refuse("Aggregation aliases contain duplicate alias: x") {
            $0.aggregations[0].alias = "x"
            $0.aggregations.append($0.aggregations[0])
        }
        refuse("1501 bytes") { $0.aggregations[0].alias = String(repeating: "x", count: 1501) }
        refuse("is negative") { $0.structuredQuery.offset = -1 }
        expectError(.unimplemented, "minimum") {
            _ = try coder.encode(
                [.minimum(try FieldPath("a"))], over: Query(.group("c")).target)
        }
    }
}
