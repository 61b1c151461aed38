import LarderModel
import LarderQuery
import LarderTestSupport
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Queries in messages")
struct QueryCodingTests {
    private func reference(_ path: String) -> Value {
        .reference(ResourceName("\(testRoot)/\(path)"))
    }

    @Test("Queries ask for the same target after they were sent")
    func roundTrip() throws {
        var random = SeededRandom()
        let coder = try testCoder()
        let fields = try ["a", "b", "m.x", "tags"].map { try FieldPath(dotted: $0) }
        let collections = try ["rooms", "c/d/rooms"].map { try CollectionPath($0) }
        let names = ["rooms/a", "rooms/b", "c/d/rooms/a"].map(reference)
        var count = 0
        while count < 1_000 {
            let query = random.planningQuery(fields, collections, names: names)
            guard (try? query.validate()) != nil, (try? query.validateForService()) != nil,
                query.disjunctionCount <= 30, !query.fieldFilters.contains(where: \.isOfNothing),
                let request = try? coder.encode(running: QuerySelection(query))
            else { continue }
            count += 1
            let back = try coder.decode(try sent(request))
            #expect(back.query.target.asSent == query.target.asSent, "\(random)")
            #expect(back.offset == 0 && back.mask == nil && !back.isEmpty)
        }
    }

    @Test("Every operator has its number", arguments: FieldFilter.Operator.allCases)
    func operators(_ op: FieldFilter.Operator) throws {
        let number =
            switch op {
            case .lessThan: 1
            case .lessThanOrEqual: 2
            case .greaterThan: 3
            case .greaterThanOrEqual: 4
            case .equal: 5
            case .notEqual: 6
            case .arrayContains: 7
            case .in: 8
            case .arrayContainsAny: 9
            case .notIn: 10
            }
        let isList = op == .in || op == .notIn || op == .arrayContainsAny
        let filter = Filter.field(FieldFilter(try FieldPath("a"), op, isList ? .array([1]) : 1))
        let coder = try testCoder()
        let asked = Query(.collection(try CollectionPath("c")), filters: [filter])
        let message = try coder.encode(QuerySelection(asked)).query
        #expect(message.where.fieldFilter.op.rawValue == number)
        #expect(message.where.fieldFilter.field.fieldPath == "a")
        #expect(try coder.decode(message, below: testRoot).query == asked)
    }

    @Test(
        "Conditions on null and NaN need no value",
        arguments: [
            (FieldFilter.Operator.equal, Value.double(.nan), 2), (.equal, .null, 3),
            (.notEqual, .double(.nan), 4), (.notEqual, .null, 5),
        ])
    func unary(_ op: FieldFilter.Operator, _ value: Value, _ number: Int) throws {
        let coder = try testCoder()
        let filter = Filter.field(FieldFilter(try FieldPath("a"), op, value))
        let asked = Query(.collection(try CollectionPath("c")), filters: [filter])
        let message = try coder.encode(QuerySelection(asked)).query
        #expect(message.where.unaryFilter.op.rawValue == number)
        #expect(try coder.decode(message, below: testRoot).query == asked)
        // A comparison with them is another question: nothing equals them, and everything but null
        // is not equal to NaN.
        let plain = try coder.decode(
            comparison(op == .equal ? .equal : .notEqual, value, coder), below: testRoot
        ).query
        let isOfNaN = value != .null
        let expected: Filter =
            op == .notEqual && isOfNaN
            ? .field(FieldFilter(try FieldPath("a"), .notEqual, .null)) : .or([])
        #expect(plain == Query(asked.source, filters: [expected]))
    }

    private func comparison(
        _ op: Google_Firestore_V1_StructuredQuery.FieldFilter.Operator, _ value: Value,
        _ coder: MessageCoder
    ) -> Google_Firestore_V1_StructuredQuery {
        query {
            $0.where.fieldFilter.field.fieldPath = "a"
            $0.where.fieldFilter.op = op
            $0.where.fieldFilter.value = (try? coder.encode(value)) ?? .init()
        }
    }

    @Test("A comparison that can match nothing implies no order", arguments: 1...4)
    func inequalitiesOfNothing(number: Int) throws {
        let coder = try testCoder()
        let op = try #require(
            Google_Firestore_V1_StructuredQuery.FieldFilter.Operator(rawValue: number))
        for value in [Value.null, .double(.nan)] {
            let decoded = try coder.decode(comparison(op, value, coder), below: testRoot).query
            #expect(decoded.filters == [.or([])] && decoded.orders.map(\.path) == [.documentID])
        }
        let one = try coder.decode(comparison(op, 1, coder), below: testRoot).query
        #expect(one.orders.count == 2)
    }

    @Test("A comparison with null or NaN may stand beside lists and alternatives")
    func comparisonsBesideLists() throws {
        let coder = try testCoder()
        for value in [Value.null, .double(.nan)] {
            var message = comparison(.notEqual, value, coder)
            let unequal = message.where
            message.where = .with { filter in
                filter.compositeFilter.op = .and
                filter.compositeFilter.filters = [
                    unequal,
                    .with {
                        $0.fieldFilter.field.fieldPath = "a"
                        $0.fieldFilter.op = .in
                        $0.fieldFilter.value.arrayValue.values = [.with { $0.integerValue = 1 }]
                    },
                ]
            }
            let query = try coder.decode(message, below: testRoot).query
            try query.validate()
            try query.validateForService()
            message.where.compositeFilter.filters.append(unequal)
            #expect(throws: LarderError.self) { try coder.decode(message, below: testRoot) }
        }
    }

    @Test("A conjunction of nothing is true; a cursor without values is at an end of everything")
    func emptyParts() throws {
        let coder = try testCoder()
        let all = query { $0.where.compositeFilter.op = .and }
        #expect(try coder.decode(all, below: testRoot).query.filters.isEmpty)
        for (isStart, before) in [(true, true), (true, false), (false, true), (false, false)] {
            let message = query {
                var cursor = Google_Firestore_V1_Cursor()
                cursor.before = before
                if isStart { $0.startAt = cursor } else { $0.endAt = cursor }
            }
            let query = try coder.decode(message, below: testRoot).query
            #expect(query.filters == (isStart == before ? [] : [.or([])]))
            #expect(query.start == nil && query.end == nil)
        }
    }

    @Test("Filters are joined as they were")
    func composites() throws {
        let coder = try testCoder()
        let parts = try ["a", "b", "c"].map {
            Filter.field(FieldFilter(try FieldPath($0), .equal, 1))
        }
        for filters in [
            [], [parts[0]], parts, [.or(parts)], [parts[0], .or([parts[1], .and([parts[2]])])],
        ] {
            let asked = Query(.group("c"), filters: filters)
            let message = try coder.encode(QuerySelection(asked)).query
            #expect(try coder.decode(message, below: testRoot).query == asked)
            #expect(message.hasWhere == !filters.isEmpty)
        }
        let one = Query(.group("c"), filters: [.and(parts)])
        let back = try coder.decode(try coder.encode(QuerySelection(one)).query, below: testRoot)
        #expect(back.query.filters == parts)
    }

    @Test("Places of queries are named by parent and collection")
    func sources() throws {
        let coder = try testCoder()
        for (source, parent, id, isGroup) in [
            (Query.Source.collection(try CollectionPath("c")), testRoot, "c", false),
            (.collection(try CollectionPath("c/d/e")), "\(testRoot)/c/d", "e", false),
            (.group("e"), testRoot, "e", true),
        ] {
            let (place, message) = try coder.encode(QuerySelection(Query(source)))
            #expect(place == parent)
            #expect(message.from.map(\.collectionID) == [id])
            #expect(message.from.map(\.allDescendants) == [isGroup])
            #expect(try coder.decode(message, below: place).query.source == source)
        }
        expectError(.invalidArgument, "single document") {
            _ = try coder.encode(QuerySelection(Query(.document(try DocumentPath("c/d")))))
        }
    }

    @Test("Bounds are before or after their values")
    func bounds() throws {
        let coder = try testCoder()
        let order = Order(try FieldPath("a"), isDescending: true)
        for isStart in [true, false] {
            for isInclusive in [true, false] {
                let bound = Bound([1, reference("c/x")], isInclusive: isInclusive)
                let asked = Query(
                    .collection(try CollectionPath("c")), orders: [order],
                    start: isStart ? bound : nil, end: isStart ? nil : bound)
                let message = try coder.encode(QuerySelection(asked)).query
                let cursor = isStart ? message.startAt : message.endAt
                #expect(cursor.before == (isStart == isInclusive))
                #expect(message.hasStartAt == isStart && message.hasEndAt == !isStart)
                #expect(message.orderBy.map(\.direction) == [.descending, .descending])
                #expect(try coder.decode(message, below: testRoot).query == asked)
            }
        }
    }

    @Test("Limits, offsets and selections of fields")
    func selections() throws {
        let coder = try testCoder()
        let asked = Query(.group("c"), limit: .first(Int(Int32.max)))
        let masks = [
            nil, FieldMask([.documentID]), FieldMask([try FieldPath("a"), try FieldPath("b.c")]),
        ]
        for mask in masks {
            let selection = QuerySelection(asked, offset: Int(Int32.max), mask: mask)
            let request = try coder.encode(running: selection)
            let back = try coder.decode(try sent(request))
            #expect(back.query == asked && back.offset == selection.offset && back.mask == mask)
        }
        let nameOnly = try coder.encode(QuerySelection(asked, mask: FieldMask([]))).query
        #expect(nameOnly.select.fields.map(\.fieldPath) == ["__name__"])
        let none = try coder.decode(
            try coder.encode(QuerySelection(Query(.group("c")), isEmpty: true)).query,
            below: testRoot)
        #expect(none.isEmpty && none.query.limit == nil)
        expectError(.invalidArgument, "out of range") {
            _ = try coder.encode(QuerySelection(asked, offset: -1))
        }
        expectError(.invalidArgument, "out of range") {
            _ = try coder.encode(QuerySelection(Query(.group("c"), limit: .first(.max))))
        }
    }

    @Test("Orders in text are paths with directions between commas")
    func orderText() throws {
        let coder = try testCoder()
        #expect(try coder.decode(orderBy: "") == [])
        #expect(try coder.decode(orderBy: "  ") == [])
        #expect(
            try coder.decode(orderBy: "a.b desc,`x, y`.`\\`` ASC ,  __name__") == [
                Order(try FieldPath("a", "b"), isDescending: true),
                Order(try FieldPath("x, y", "`")), Order(.documentID),
            ])
        for text in [
            ",", "a,", "a b", "a desc desc", "desc desc desc", "a b.c", "`a", "a..b", "1",
            Array(repeating: "a", count: 101).joined(separator: ","),
        ] {
            expectError(.invalidArgument, "") { _ = try coder.decode(orderBy: text) }
        }
    }

    @Test("A limit from the end is sent turned round")
    func limitToLast() throws {
        let coder = try testCoder()
        let asked = Query(
            .collection(try CollectionPath("c")), orders: [Order(try FieldPath("a"))],
            limit: .last(2), end: Bound([5], isInclusive: true))
        let message = try coder.encode(QuerySelection(asked)).query
        #expect(message.orderBy.map(\.direction) == [.descending, .descending])
        #expect(message.hasStartAt && !message.hasEndAt && message.startAt.before)
        #expect(try coder.decode(message, below: testRoot).query.target == asked.target)
    }
}

extension QueryTarget {
    /// The target as text, with times cut to microseconds.
    fileprivate var asSent: String {
        func text(_ filter: Filter) -> String {
            switch filter {
            case .field(let filter):
                "\(filter.path) \(filter.op.rawValue) \(filter.value.type) \(filter.value.asSent)"
            case .and(let filters): "and(\(filters.map(text)))"
            case .or(let filters): "or(\(filters.map(text)))"
            }
        }
        func text(_ bound: Bound) -> String { "\(bound.values.map(\.asSent)) \(bound.isInclusive)" }
        let filters = Self.parts(of: self.filters)
        return "\(source) \(filters.map(text)) \(orders) \(limit ?? 0) "
            + "\(start.map(text) ?? "") \(end.map(text) ?? "")"
    }

    /// The parts of conjunctions that stand alone.
    private static func parts(of filters: [Filter]) -> [Filter] {
        guard filters.count == 1, case .and(let parts) = filters[0] else { return filters }
        return Self.parts(of: parts)
    }
}

extension FieldFilter {
    /// True for a comparison with null or NaN, which is sent as another question.
    fileprivate var isOfNothing: Bool {
        value.isNullOrNaN
            && [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual].contains(op)
    }
}
