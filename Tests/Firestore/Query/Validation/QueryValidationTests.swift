import LarderModel
import LarderQuery
import Testing

@Suite("Rules of queries")
struct QueryValidationTests {
    private let cities: Query
    private let group = Query(.group("cities"))
    private let database = DatabaseID(project: "p")
    private let a = FieldPath(unchecked: ["a"])

    init() throws {
        cities = Query(.collection(try CollectionPath("cities")))
    }

    private func field(_ op: FieldFilter.Operator, _ value: Value? = nil) -> Filter {
        let takesList = [.in, .notIn, .arrayContainsAny].contains(op)
        return .field(FieldFilter(a, op, value ?? (takesList ? [1] : 1)))
    }

    private func name(_ op: FieldFilter.Operator, _ value: Value) -> Filter {
        .field(FieldFilter(.documentID, op, value))
    }

    /// Whether the filters are refused, one after the other and as a whole alike.
    private func areRefused(_ filters: [Filter], by query: Query? = nil) -> Bool {
        var built: Query? = query ?? cities
        for filter in filters {
            do throws(LarderError) {
                built = try built?.adding(filter, in: database)
            } catch {
                #expect(error.kind == .invalidArgument)
                built = nil
            }
        }
        return built == nil
    }

    private func isRefused(_ query: Query) -> Bool {
        do throws(LarderError) {
            try query.validate()
            return false
        } catch {
            #expect(error.kind == .invalidArgument)
            return true
        }
    }

    @Test("operators that exclude each other, in either order and inside composites")
    func conflicts() {
        let excluded: Set<Set<FieldFilter.Operator>> = [
            [.notEqual], [.notIn], [.notEqual, .notIn], [.notIn, .in], [.notIn, .arrayContainsAny],
        ]
        for first in FieldFilter.Operator.allCases {
            for second in FieldFilter.Operator.allCases {
                let expected = excluded.contains([first, second])
                let (l, r) = (field(first), field(second))
                for filters in [[l, r], [.or([l, r])], [l, .and([.or([r, field(.equal)])])]] {
                    #expect(areRefused(filters) == expected, "\(first) \(second)")
                    var whole = cities
                    whole.filters = filters
                    #expect(isRefused(whole) == expected, "\(first) \(second)")
                }
            }
        }
    }

    @Test("lists have one value at least and are lists")
    func lists() {
        for op in [FieldFilter.Operator.in, .notIn, .arrayContainsAny] {
            #expect(areRefused([field(op, [])]))
            #expect(areRefused([field(op, 1)]))
            #expect(!areRefused([field(op, .array((0..<500).map { .integer($0) }))]))
        }
    }

    @Test("an array in an array is refused, but as an element of `in` and `not-in`")
    func nestedArrays() {
        #expect(areRefused([field(.equal, [[1]])]))
        #expect(areRefused([field(.equal, ["m": [[1]]])]))
        #expect(areRefused([field(.arrayContainsAny, [[1]])]))
        #expect(!areRefused([field(.equal, [1])]))
        #expect(!areRefused([field(.equal, [["m": [1]]])]))
        #expect(!areRefused([field(.arrayContains, [1])]))
        #expect(!areRefused([field(.in, [[1]])]))
        #expect(!areRefused([field(.notIn, [[1]])]))
    }

    @Test("values that exist only locally are refused, null and NaN are not")
    func values() {
        let pending = Value.serverTimestamp(
            PendingServerTimestamp(localWriteTime: Timestamp(seconds: 1, nanoseconds: 0)))
        #expect(areRefused([field(.equal, pending)]))
        #expect(areRefused([field(.equal, ["m": [pending]])]))
        #expect(areRefused([field(.lessThan, .max)]))
        for op in [FieldFilter.Operator.lessThan, .equal, .notEqual] {
            #expect(!areRefused([field(op, .null)]))
            #expect(!areRefused([field(op, .double(.nan))]))
        }
    }

    @Test("references lead into the same database")
    func databases() throws {
        let other = Value.reference(
            ResourceName(database: DatabaseID(project: "q"), document: try DocumentPath("a/b")))
        #expect(areRefused([field(.equal, other)]))
        #expect(areRefused([field(.in, [["m": other]])]))
        #expect(areRefused([name(.equal, other)]))
        #expect(!areRefused([field(.equal, try reference("a/b"))]))
        #expect(throws: LarderError.self) {
            try cities.ordered(by: a).bound(at: [other], isInclusive: true, in: database)
        }
    }

    @Test("filters on the name take ids in a collection and paths in a group")
    func names() throws {
        for op in [FieldFilter.Operator.arrayContains, .arrayContainsAny] {
            #expect(areRefused([name(op, op == .arrayContains ? "x" : ["x"])]))
        }
        #expect(areRefused([name(.equal, "")]))
        #expect(areRefused([name(.equal, "a/b")]))
        #expect(areRefused([name(.equal, 1)]))
        #expect(areRefused([name(.equal, ["x"])]))
        #expect(areRefused([name(.in, ["x", ""])]))
        #expect(areRefused([name(.in, ["x", 1])]))
        #expect(areRefused([name(.in, [])]))
        #expect(areRefused([name(.equal, "x")], by: group))
        #expect(areRefused([name(.equal, "cities/x/y")], by: group))
        #expect(areRefused([name(.equal, "")], by: group))
        let one = try cities.adding(name(.greaterThan, "x"), in: database)
        #expect(one.filters == [name(.greaterThan, try reference("cities/x"))])
        let several = try group.adding(
            .or([field(.equal), name(.in, ["cities/x", reference("a/b")])]), in: database)
        let names: Value = [try reference("cities/x"), try reference("a/b")]
        #expect(several.filters == [.or([field(.equal), name(.in, names)])])
        var unresolved = cities
        unresolved.filters = [name(.equal, "x")]
        #expect(isRefused(unresolved))
    }

    @Test("composites of nothing are left out, those of one filter are that filter")
    func simplification() throws {
        #expect(try cities.adding(.or([.and([]), .or([])]), in: database).filters.isEmpty)
        #expect(
            try cities.adding(.or([.and([field(.equal)])]), in: database).filters
                == [field(.equal)])
        let both = Filter.or([field(.equal), field(.lessThan)])
        #expect(try cities.adding(.and([both, .or([])]), in: database).filters == [both])
    }

    @Test("limits are 1 at least, and one from the end needs an order when it is run")
    func limits() throws {
        for limit in [0, -1, Int.min] {
            #expect(throws: LarderError.self) { try cities.limited(to: .first(limit)) }
            #expect(throws: LarderError.self) { try cities.limited(to: .last(limit)) }
            var query = cities
            query.limit = .first(limit)
            #expect(isRefused(query))
        }
        let last = try cities.limited(to: .first(1)).limited(to: .last(2))
        #expect(last.limit == .last(2))
        #expect(!isRefused(last))
        #expect(throws: LarderError.self) { try last.validateForExecution() }
        try last.ordered(by: a).validateForExecution()
        try cities.limited(to: .first(1)).validateForExecution()
    }

    @Test("no order follows a start or an end")
    func ordersAfterBounds() throws {
        let bound = Bound([1], isInclusive: true)
        var (started, ended) = (try cities.ordered(by: a), try cities.ordered(by: a))
        #expect(started.canAddOrder)
        (started.start, ended.end) = (bound, bound)
        for query in [started, ended] {
            #expect(!query.canAddOrder)
            #expect(throws: LarderError.self) { try query.ordered(by: .documentID) }
            #expect(!isRefused(query))
        }
    }

    @Test("bounds by values: not more than explicit orders, ids for the name")
    func boundsByValues() throws {
        let ordered = try cities.ordered(by: a).ordered(by: .documentID, isDescending: true)
        func isRefused(_ values: [Value], by query: Query) -> Bool {
            do throws(LarderError) {
                _ = try query.bound(at: values, isInclusive: true, in: database)
                return false
            } catch {
                #expect(error.kind == .invalidArgument)
                return true
            }
        }
        #expect(isRefused([], by: ordered))
        #expect(isRefused([1, "x", 2], by: ordered))
        #expect(isRefused([1], by: cities))
        #expect(isRefused([1], by: try cities.adding(field(.lessThan), in: database)))
        for id in [1, "", "x/y", try reference("cities/x")] as [Value] {
            #expect(isRefused([1, id], by: ordered))
        }
        #expect(isRefused([[[1]]], by: ordered))
        let byName = try group.ordered(by: .documentID)
        #expect(isRefused(["x"], by: byName))
        #expect(isRefused(["cities/x/y"], by: byName))
        let bound = try byName.bound(at: ["cities/x"], isInclusive: false, in: database)
        #expect(bound == Bound([try reference("cities/x")], isInclusive: false))
        #expect(
            try ordered.bound(at: [1, "x"], isInclusive: true, in: database)
                == Bound([1, reference("cities/x")], isInclusive: true))
    }

    @Test("a bound at a document has its values of all orders and its name")
    func boundsAtDocuments() throws {
        let query = try cities.adding(field(.greaterThan), in: database)
        let document = try city("SF", ["a": 7])
        #expect(
            try query.bound(at: document, isInclusive: false, in: database)
                == Bound([7, reference("cities/SF")], isInclusive: false))
        let pending = Value.serverTimestamp(
            PendingServerTimestamp(localWriteTime: Timestamp(seconds: 1, nanoseconds: 0)))
        let absent = Document(
            path: document.path, state: .absent, record: nil, version: .none, createTime: nil,
            readTime: .none, hasLocalMutations: false, hasCommittedMutations: false,
            largestBatchID: 0, storedBytes: 0)
        for bad in [absent, try city("SF", ["b": 7]), try city("SF", ["a": pending])] {
            #expect(throws: LarderError.self) {
                try query.bound(at: bad, isInclusive: true, in: database)
            }
        }
    }

    @Test("bounds of a query as a whole")
    func wholeBounds() throws {
        func isRefused(_ values: [Value]) -> Bool {
            var (started, ended) = (cities, cities)
            started.explicitOrders = [Order(a)]
            ended.explicitOrders = [Order(a)]
            started.start = Bound(values, isInclusive: true)
            ended.end = Bound(values, isInclusive: true)
            #expect(self.isRefused(started) == self.isRefused(ended))
            return self.isRefused(started)
        }
        #expect(isRefused([]))
        #expect(isRefused([.max]))
        #expect(isRefused([1, "x"]))
        #expect(isRefused([1, try reference("c/x"), 2]))
        #expect(!isRefused([1]))
    }

    @Test("a query for one document takes nothing else")
    func documentQueries() throws {
        let query = Query(.document(try DocumentPath("c/d")))
        #expect(!isRefused(query))
        #expect(areRefused([name(.equal, "x")], by: query))
        var limited = query
        limited.limit = .first(1)
        #expect(isRefused(limited))
        var filtered = query
        filtered.filters = [field(.equal)]
        #expect(isRefused(filtered))
    }

    @Test("a group's id is one segment", arguments: ["", "a/b"])
    func groups(id: String) {
        #expect(isRefused(Query(.group(id))))
    }

    // MARK: What the service refuses

    private func refusal(_ filters: [Filter], _ orders: [Order] = []) -> String? {
        var query = cities
        query.filters = filters
        query.explicitOrders = orders
        do throws(LarderError) {
            try query.validate()
            try query.validateForService()
            return nil
        } catch {
            #expect(error.kind == .invalidArgument)
            return error.message
        }
    }

    @Test(
        "The service refuses orders after the name, including implicit ones, and duplicate orders")
    func ordersOfService() {
        let (key, byA) = (Order(.documentID), Order(a))
        let behind = "order by clause cannot contain more fields after the key"
        #expect(refusal([], [byA, key]) == nil)
        #expect(refusal([field(.equal)], [key]) == nil)
        #expect(refusal([field(.greaterThan)], [byA, key]) == nil)
        #expect(refusal([], [key, byA]) == behind)
        #expect(refusal([field(.greaterThan)], [key]) == behind)
        #expect(refusal([], [key, key]) == behind)
        #expect(
            refusal([], [byA, Order(a, isDescending: true)])
                == "order by clause cannot contain duplicate fields a")
    }

    @Test("The service refuses an equality on the name beside an inequality on another field only")
    func namesOfService() throws {
        let name = try reference("cities/x")
        for equality in [self.name(.equal, name), self.name(.in, [name])] {
            #expect(refusal([equality, field(.equal)]) == nil)
            #expect(refusal([equality, field(.greaterThan), self.name(.lessThan, name)]) == nil)
            for inequality in [field(.greaterThan), field(.notEqual, .null), field(.notIn)] {
                guard equality != self.name(.in, [name]) || inequality != field(.notIn) else {
                    continue
                }
                let words = refusal([equality, inequality])
                #expect(words?.hasPrefix("Equality on key is not allowed") == true)
            }
            #expect(refusal([.or([equality, field(.lessThan)])]) != nil)
        }
    }

    @Test("The service refuses two array filters that hold together, and `not-in` beside `or`")
    func arraysOfService() {
        let words = "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction."
        let (one, two) = (field(.arrayContains, 1), field(.arrayContains, 2))
        let any = field(.arrayContainsAny, [1, 2])
        #expect(refusal([one, two]) == words)
        #expect(refusal([one, any]) == words)
        #expect(refusal([one, .or([two, field(.equal)])]) == words)
        #expect(refusal([one, .or([one, field(.equal)])]) == words)
        #expect(refusal([.or([one, field(.equal)]), .or([two, field(.lessThan)])]) == words)
        for filters in [
            [one], [one, one], [any, any], [.or([one, two])], [field(.equal), .or([one, any])],
        ] {
            #expect(refusal(filters) == nil)
        }
        #expect(refusal([field(.notIn), one]) == nil)
        #expect(refusal([field(.notIn), .or([field(.equal)])])?.hasPrefix("'NOT_IN'") == true)
        #expect(refusal([.and([.or([field(.notIn), one])])])?.hasPrefix("'NOT_IN'") == true)
    }

    @Test("Alternatives are counted by values and branches, those that are the same once")
    func disjunctions() {
        func count(_ filters: [Filter]) -> Int {
            var query = cities
            query.filters = filters
            return query.disjunctionCount
        }
        let list = field(.in, [1, 2, 2, .double(2), .null])
        #expect(count([]) == 1)
        #expect(count([field(.equal), field(.notIn, [1, 2])]) == 1)
        #expect(count([list]) == 4)
        #expect(count([list, field(.arrayContainsAny, [1, 2])]) == 8)
        #expect(count([.or([field(.notEqual), field(.equal, 3), field(.equal, 3)])]) == 2)
        #expect(count([.or([list, .or([field(.equal), field(.in, [2, 3])])])]) == 5)
        #expect(count([list, .or([field(.equal), field(.lessThan)])]) == 8)
        let many = (0..<70).map { number in
            Filter.or([field(.equal, .integer(number)), field(.lessThan, .integer(number))])
        }
        #expect(count(many) == .max)
        #expect(count([.or([.and(many), field(.equal)])]) == .max)
    }
}
