import LarderModel
import LarderQuery
import LarderSync
import Testing

@Suite("Active views: which ones a change looks at")
struct ViewsDispatchTests {
    private func views(_ queries: [Query]) -> ActiveViews {
        var views = ActiveViews()
        for (id, query) in queries.enumerated() {
            let added = views.addListener(UInt64(id), to: query)
            _ = views.load(added.view, [], refill: noRefill)
        }
        return views
    }

    /// How many views a new document with these fields makes one look at.
    private func examined(
        _ queries: [Query], _ path: String, _ fields: MapValue = MapValue()
    ) throws -> Int {
        var views = views(queries)
        _ = views.apply([try .test(nil, .test(path, fields))], refill: noRefill)
        return views.examinedViewCount
    }

    @Test("A document query is looked at for its document alone")
    func documents() throws {
        let queries = try (0..<50).map { Query(.document(try DocumentPath("c/d\($0)"))) }
        #expect(try examined(queries, "c/d7") == 1)
        #expect(try examined(queries, "c/x") == 0)
        #expect(try examined(queries, "c/d7/e/d7") == 0)
    }

    @Test("Queries are looked at for documents of their collection or group")
    func places() throws {
        let queries = [
            try Query.test("c"), try .test("d"), try .test("c/x/d"), Query(.group("d")),
            Query(.group("e")),
        ]
        #expect(try examined(queries, "c/a") == 1)
        #expect(try examined(queries, "d/a") == 2)
        #expect(try examined(queries, "c/x/d/a") == 2)
        #expect(try examined(queries, "c/y/d/a") == 1)
        #expect(try examined(queries, "f/a") == 0)
    }

    @Test("An equality is looked at for documents that have the value, 1 for 1.0 too")
    func equalities() throws {
        let queries = try (0..<20).map {
            try Query.test("c", where: .test("n", .equal, .integer($0)))
        }
        #expect(try examined(queries, "c/a", ["n": 7]) == 1)
        #expect(try examined(queries, "c/a", ["n": 7.0]) == 1)
        #expect(try examined(queries, "c/a", ["n": "7"]) == 0)
        #expect(try examined(queries, "c/a", ["m": 7]) == 0)
        var views = views([try .test("c", where: .test("n", .equal, 7))])
        let step = views.apply([try .test(nil, .test("c/a", ["n": 7.0]))], refill: noRefill)
        #expect(step.told == "0:a")
    }

    @Test("Lists and arrays give several values to be found by")
    func several() throws {
        let list = Value.array([1, 2, 3])
        #expect(try examined([.test("c", where: .test("n", .in, list))], "c/a", ["n": 2]) == 1)
        #expect(try examined([.test("c", where: .test("n", .in, list))], "c/a", ["n": 4]) == 0)
        let one = try Query.test("c", where: .test("n", .arrayContains, 2))
        let any = try Query.test("c", where: .test("n", .arrayContainsAny, list))
        #expect(try examined([one, any], "c/a", ["n": .array([5, 3])]) == 1)
        #expect(try examined([one, any], "c/a", ["n": .array([2, 3])]) == 2)
        #expect(try examined([one, any], "c/a", ["n": 2]) == 0)
    }

    @Test("Names of documents are looked at for those documents")
    func names() throws {
        let database = DatabaseID(project: "p", database: "d")
        let queries = try (0..<9).map { number in
            Query(
                .collection(try CollectionPath("c")),
                filters: [
                    .field(
                        FieldFilter(
                            .documentID, .equal,
                            .reference(
                                ResourceName(
                                    database: database, document: try DocumentPath("c/\(number)"))
                            )))
                ])
        }
        #expect(try examined(queries, "c/4") == 1)
    }

    @Test("Composite filters are found by an equality that all of their documents satisfy")
    func composites() throws {
        let (n, m) = (
            Filter.field(try .test("n", .equal, 1)), Filter.field(try .test("m", .equal, 1))
        )
        let more = Filter.field(try .test("k", .greaterThan, 1))
        let place = Query.Source.collection(try CollectionPath("c"))
        let both = Query(place, filters: [.and([more, n])])
        let either = Query(place, filters: [.or([n, m])])
        let open = Query(place, filters: [.or([n, more])])
        #expect(try examined([both, either, open], "c/a", ["n": 1, "k": 2]) == 3)
        #expect(try examined([both, either, open], "c/a", ["m": 1]) == 2)
        #expect(try examined([both, either, open], "c/a", ["k": 1]) == 1)
    }

    @Test("A change is looked at by the views of the value before, and of the one after")
    func beforeAndAfter() throws {
        let queries = try (0..<9).map {
            try Query.test("c", where: .test("n", .equal, .integer($0)))
        }
        var views = views(queries)
        let (one, two) = (try Document.test("c/a", ["n": 1]), try Document.test("c/a", ["n": 2]))
        #expect(views.apply([try .test(nil, one)], refill: noRefill).told == "1:a")
        #expect(views.apply([try .test(one, two)], refill: noRefill).told == "1: 2:a")
        #expect(views.examinedViewCount == 3)
        #expect(views.apply([try .test(two, nil)], refill: noRefill).told == "2:")
        #expect(views.examinedViewCount == 4)
    }

    @Test("A view that has a document is looked at though the change does not name its value")
    func membership() throws {
        var views = views([try .test("c", where: .test("n", .equal, 1))])
        let local = try Document.test("c/a", ["n": 1], .local)
        _ = views.apply([try .test(nil, local)], refill: noRefill)
        // Not shown before the watch stream confirms it, so that the view still has the document.
        let committed = try Document.test("c/a", ["n": 1, "m": 1], .committed)
        #expect(views.apply([try .test(local, committed)], refill: noRefill).told.isEmpty)
        let other = try Document.test("c/a", ["n": 2])
        #expect(views.apply([try .test(nil, other)], refill: noRefill).told == "0:")
    }

    @Test("Changes of one document in a step are one change, from the first state to the last")
    func merging() throws {
        let queries = try (0..<9).map {
            try Query.test("c", where: .test("n", .equal, .integer($0)))
        }
        var views = views(queries)
        let states = try (0..<5).map { try Document.test("c/a", ["n": .integer($0)]) }
        var changes: [LocalChange] = []
        for (before, after) in zip(states, states.dropFirst()) {
            changes.append(try .test(before, after))
        }
        #expect(views.apply(changes, refill: noRefill).told == "4:a")
        #expect(views.examinedViewCount == 2)
    }

    @Test("A view that ended is looked at no more")
    func ended() throws {
        let queries = [
            try Query.test("c"), try .test("c", where: .test("n", .equal, 1)),
            Query(.document(try DocumentPath("c/a"))), Query(.group("c")),
        ]
        var views = views(queries)
        for id in 0..<4 as Range<UInt64> { _ = views.removeListener(id) }
        _ = views.addListener(9, to: try .test("z"))
        _ = views.apply([try .test(nil, .test("c/a", ["n": 1]))], refill: noRefill)
        #expect(views.examinedViewCount == 0)
    }

    @Test("One changed document with 10,000 listeners on distinct values looks at two of them")
    func tenThousand() throws {
        for count in [10, 10_000] {
            var views = views(
                try (0..<count).map {
                    try .test("c", where: .test("n", .equal, .integer(Int64($0))))
                })
            let (one, two) = (
                try Document.test("c/a", ["n": 3]), try Document.test("c/a", ["n": 4])
            )
            #expect(views.apply([try .test(nil, one)], refill: noRefill).told == "3:a")
            #expect(views.examinedViewCount == 1)
            #expect(views.apply([try .test(one, two)], refill: noRefill).told == "3: 4:a")
            #expect(views.examinedViewCount == 3)
        }
    }
}
