import LarderModel
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Queries that break a rule")
struct QueryRefusalTests {
    @Test("Queries that break a rule are refused, with the reason")
    func refused() throws {
        let coder = try testCoder()
        func refuse(
            _ kind: LarderError.Code, _ words: String, below parent: String = testRoot,
            at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_StructuredQuery) -> Void
        ) {
            let message = query(set)
            expectError(
                kind, words, { _ = try coder.decode(message, below: parent) }, at: location)
        }
        let bad = LarderError.Code.invalidArgument
        refuse(bad, "not the name of a document", below: "projects/p/databases/e/documents") { _ in
        }
        refuse(.unimplemented, "all collections") { $0.from = [] }
        refuse(.invalidArgument, "2 collection selectors") { $0.from.append($0.from[0]) }
        refuse(.unimplemented, "all collections") { $0.from[0].collectionID = "" }
        refuse(bad, "slash") { $0.from[0].collectionID = "c/d/e" }
        refuse(bad, "reserved") { $0.from[0].collectionID = "__c__" }
        refuse(.unimplemented, "below a document", below: "\(testRoot)/c/d") {
            $0.from[0].allDescendants = true
        }
        refuse(.unimplemented, "nearest") { $0.findNearest = .init() }
        refuse(bad, "is negative") { $0.offset = -1 }
        refuse(bad, "is negative") { $0.limit.value = -1 }
        refuse(bad, "no condition") { $0.where = .init() }
        refuse(bad, "not a valid field path") { $0.where.fieldFilter.op = .equal }
        refuse(bad, "no field") { $0.where.unaryFilter.op = .isNan }
        refuse(bad, "at least one sub-filter") { $0.where.compositeFilter.op = .or }
        refuse(bad, "Unsupported CompositeFilter operator") { $0.where.compositeFilter = .init() }
        refuse(bad, "unknown direction") {
            $0.orderBy = [.init()]
            $0.orderBy[0].field.fieldPath = "a"
            $0.orderBy[0].direction = .UNRECOGNIZED(3)
        }
        refuse(bad, "Cursor has too many values") {
            $0.endAt.values = [message { $0.integerValue = 1 }]
        }
        let byName = Google_Firestore_V1_StructuredQuery.Order.with {
            $0.field.fieldPath = "__name__"
        }
        refuse(bad, "must be a reference") {
            $0.orderBy = [byName]
            $0.endAt.values = [message { $0.integerValue = 1 }]
        }
        refuse(bad, "not the name of a document") {
            $0.orderBy = [byName]
            $0.startAt.values = [
                message { $0.referenceValue = "projects/p/databases/e/documents/c/d" }
            ]
        }
        refuse(bad, "Cursor has too many values") {
            $0.where.fieldFilter.field.fieldPath = "a"
            $0.where.fieldFilter.op = .greaterThan
            $0.where.fieldFilter.value.integerValue = 1
            $0.startAt.values = [message { $0.integerValue = 1 }]
        }
        refuse(bad, "not a valid field path") { $0.select.fields = [.init()] }
    }

    @Test("A limit of nothing hides no broken rule")
    func limitOfNothing() throws {
        let coder = try testCoder()
        let order = Google_Firestore_V1_StructuredQuery.Order.with { $0.field.fieldPath = "a" }
        let name = Google_Firestore_V1_StructuredQuery.Order.with {
            $0.field.fieldPath = "__name__"
        }
        for (orders, words) in [
            ([order, order], "duplicate fields"), ([name, order], "more fields after the key"),
        ] {
            let message = query {
                $0.limit.value = 0
                $0.orderBy = orders
            }
            expectError(
                .invalidArgument, words, { _ = try coder.decode(message, below: testRoot) })
        }
    }

    @Test("Filters that break a rule are refused, with the reason")
    func refusedFilters() throws {
        let coder = try testCoder()
        func refuse(
            _ words: String, at location: SourceLocation = #_sourceLocation,
            _ set: (inout Google_Firestore_V1_StructuredQuery.Filter) -> Void
        ) {
            let message = query {
                $0.where.fieldFilter.field.fieldPath = "a"
                $0.where.fieldFilter.op = .equal
                $0.where.fieldFilter.value.integerValue = 1
                set(&$0.where)
            }
            expectError(
                .invalidArgument, words, { _ = try coder.decode(message, below: testRoot) },
                at: location)
        }
        let condition = query { $0.where.unaryFilter.field.fieldPath = "a" }.where
        refuse("unknown operator") { $0.fieldFilter.op = .unspecified }
        refuse("unknown operator") { $0.fieldFilter.op = .UNRECOGNIZED(99) }
        refuse("unknown operator") { $0 = condition }
        refuse("Unsupported CompositeFilter operator") {
            $0.compositeFilter.filters = [$0]
        }
        refuse("no type") { $0.fieldFilter.clearValue() }
        refuse("a list of at least one value") { $0.fieldFilter.op = .in }
        refuse("31 values; the limit is 30") {
            $0.fieldFilter.op = .in
            $0.fieldFilter.value.arrayValue.values = (0..<31).map { number in
                message { $0.integerValue = Int64(number) }
            }
        }
        refuse("11 values; the limit is 10") {
            $0.fieldFilter.op = .notIn
            $0.fieldFilter.value.arrayValue.values = (0..<11).map { number in
                message { $0.integerValue = Int64(number) }
            }
        }
        refuse("Result had 36 disjunctions which is more than the maximum of 30") { filter in
            let parts = [Int64(0), 6].map { first in
                var or = Google_Firestore_V1_StructuredQuery.Filter()
                or.compositeFilter.op = .or
                or.compositeFilter.filters = (first..<first + 6).map { number in
                    var part = filter
                    part.fieldFilter.value.integerValue = number
                    return part
                }
                return or
            }
            filter.compositeFilter.op = .and
            filter.compositeFilter.filters = parts
        }
        refuse("more than 100 filters") {
            let part = Array(repeating: $0, count: 100)
            $0.compositeFilter.op = .and
            $0.compositeFilter.filters = part
        }
        refuse("only with IDs and references") { $0.fieldFilter.field.fieldPath = "__name__" }
        refuse("not the name of a document") {
            $0.fieldFilter.field.fieldPath = "__name__"
            $0.fieldFilter.op = .in
            $0.fieldFilter.value.arrayValue.values = [
                message { $0.referenceValue = "projects/q/databases/d/documents/c/d" }
            ]
        }
    }

    @Test("A request without a query is refused")
    func withoutQuery() throws {
        let coder = try testCoder()
        var request = Google_Firestore_V1_RunQueryRequest()
        request.parent = testRoot
        expectError(.invalidArgument, "only structured queries") { _ = try coder.decode(request) }
    }
}
