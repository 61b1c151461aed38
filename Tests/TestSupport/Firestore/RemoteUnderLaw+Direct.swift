import LarderModel
import LarderQuery
import LarderRemote

/// Laws of queries without a stream, of lists, and of mutations that are committed by themselves.
extension RemoteUnderLaw {
    func selectionsAreMade() async throws {
        let version = try await commit(
            set("a", 1), set("b", 2), set("c", 3), set("d", 4),
            Mutation(.set(try Record(["n": 5, "m": ["x": 1, "y": 2]])), at: path("e"))
        ).commitVersion
        var query = try query()
        query.explicitOrders = [Order(try FieldPath("n"))]
        query.limit = .first(2)
        let (first, readTime) = try await run(QuerySelection(query, offset: 1))
        try require(first.map(\.path.id) == ["b", "c"], "\(first)")
        try require(first.map(\.version) == [version, version] && readTime >= version, "\(first)")
        query.limit = .last(2)
        let (last, _) = try await run(QuerySelection(query, offset: 1))
        try require(last.map(\.path.id) == ["c", "d"], "the offset of the last ones: \(last)")
        query.limit = nil
        let mask = FieldMask([
            try FieldPath("m", "x"), try FieldPath("none", "x"), .documentID,
        ])
        let (parts, _) = try await run(QuerySelection(query, offset: 3, mask: mask))
        try require(
            parts.map(\.fields) == [[:], ["m": ["x": 1]]], "the selected fields: \(parts)")
        let (names, _) = try await run(QuerySelection(query, mask: FieldMask([])))
        try require(names.allSatisfy { $0.fields == [:] } && names.count == 5, "\(names)")
        let (none, _) = try await run(QuerySelection(query, offset: 5))
        try require(none.isEmpty, "beyond the end: \(none)")
    }

    func collectionsAreListed() async throws {
        try await commit(set("x", 1), set("x", 1, in: "b"))
        let parent = try path("x")
        let below = try ["two", "one"].map { try parent.collection($0).document("d") }
        try await commit(
            Mutation(.set(try Record(["n": 1])), at: below[0]),
            Mutation(.set(try Record(["n": 1])), at: below[1].collection("deep").document("d")))
        // A collection is listed also if only descendants of its documents exist.
        try require(try await collectionIDs(below: parent) == ["one", "two"], "below a document")
        try require(try await collectionIDs(below: below[0]).isEmpty, "where there is nothing")
        try require(try await collectionIDs(below: nil).contains(place), "at the root")
    }

    func documentsAreListed() async throws {
        let missing = try path("m")
        try await commit(
            set("x", 1), set("b", 2),
            Mutation(.set(try Record(["n": 1])), at: missing.collection("c").document("d")))
        let listed = try await documents(in: collection())
        try require(listed == [try path("b"), missing, try path("x")], "\(listed)")
        try require(try await documents(in: collection("none")).isEmpty, "where there is nothing")
    }

    func subtreesAreListed() async throws {
        let deep = try path("b").collection("c").document("d")
        // The last one is in a collection whose name begins with the other's.
        let neighbor = try CollectionPath("\(place)/a/docs2").document("x")
        try await commit(
            set("a", 1), set("b", 2), Mutation(.set(try Record(["n": 1])), at: deep),
            Mutation(.set(try Record(["n": 1])), at: neighbor), set("x", 1, in: "other"))
        let all = [try path("a"), try path("b"), deep]
        let docs = SubtreePage.Subtree.collection(try collection())
        try require(try await paths(SubtreePage(docs, limit: 10)) == all, "a collection")
        try require(try await paths(SubtreePage(docs, limit: 2)) == Array(all[..<2]), "a page")
        try require(
            try await paths(SubtreePage(docs, after: all[1], limit: 2)) == [deep], "the next one")
        let below = SubtreePage.Subtree.below(try DocumentPath("\(place)/a"))
        let descendants = try await paths(SubtreePage(below, limit: 10))
        try require(descendants == all + [neighbor], "below a document: \(descendants)")
    }

    func mutationsAreCommittedByThemselves() async throws {
        let version = try await commit(set("w", 1), set("x", 1)).commitVersion
        let outcomes = try await commitEach(
            set("w", 2, .exists(false)), set("y", 2), delete("x"),
            patch("none", ["n": 1], .exists(true)), set("z", 3, .exists(false)))
        let codes = outcomes.map { outcome -> LarderError.Code? in
            if case .failure(let error) = outcome { error.kind } else { nil }
        }
        try require(codes[1] == nil && codes[4] == nil, "\(outcomes)")
        try require(codes[0] == .alreadyExists && codes[3] == .notFound, "\(outcomes)")
        let written = try await read("y", "z")
        try require(
            try written.map(\.version) == [outcomes[1].get().version, outcomes[4].get().version]
                && written.allSatisfy { $0.version > version }, "\(written) by \(outcomes)")
        try require(try await !read("x")[0].exists, "a delete beside a refused write")
    }

    // MARK: Calls

    private func run(_ selection: QuerySelection) async throws
        -> (documents: [DocumentReading], readTime: SnapshotVersion)
    {
        let selected = try await withCheckedContinuation { continuation in
            remote.run(selection, as: Credentials()) { continuation.resume(returning: $0) }
        }.get()
        return (selected.documents, selected.readTime)
    }

    private func collectionIDs(below parent: DocumentPath?) async throws -> [String] {
        try await withCheckedContinuation { continuation in
            remote.listCollectionIDs(below: parent, as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    private func documents(in collection: CollectionPath) async throws -> [DocumentPath] {
        try await withCheckedContinuation { continuation in
            remote.listDocuments(in: collection, as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    private func paths(_ page: SubtreePage) async throws -> [DocumentPath] {
        try await withCheckedContinuation { continuation in
            remote.list(page, as: Credentials()) { continuation.resume(returning: $0) }
        }.get()
    }

    private func commitEach(_ mutations: Mutation...) async throws -> [MutationOutcome] {
        try await withCheckedContinuation { continuation in
            remote.commitEach(mutations, as: Credentials()) { continuation.resume(returning: $0) }
        }.get()
    }
}
