import LarderBackend
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@Suite("Backend: collections, missing documents, descendants, plans")
struct BackendStructureTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
        try backend.commit(
            .set("c/a", [:]), .set("c/a/d/x", [:]), .set("c/b/d/x/e/y", [:]), .set("cc/a", [:]),
            .set("b/a", [:]), .set("gone/a", [:]))
        try backend.commit(.delete("gone/a"))
    }

    private func ids(below parent: String?) throws -> [String] {
        try backend.backend.collectionIDs(below: try parent.map { try DocumentPath($0) })
    }

    @Test("Collections are those with documents, or with documents somewhere below")
    func collections() throws {
        #expect(try ids(below: nil) == ["b", "c", "cc"])
        #expect(try ids(below: "c/a") == ["d"])
        #expect(try ids(below: "c/b") == ["d"])
        #expect(try ids(below: "c/b/d/x") == ["e"])
        #expect(try ids(below: "c/aa").isEmpty)
        #expect(try ids(below: "gone/a").isEmpty)
    }

    @Test("Missing documents are those with documents below that do not exist")
    func missing() throws {
        func missing(_ collection: String) throws -> [String] {
            try backend.backend.missingDocuments(in: CollectionPath(collection)).map(\.string)
        }
        #expect(try missing("c") == ["c/b"])
        #expect(try missing("c/b/d") == ["c/b/d/x"])
        #expect(try missing("cc").isEmpty)
        try backend.commit(.delete("c/a"))
        #expect(try missing("c") == ["c/a", "c/b"])
    }

    private func descendants(
        of parent: String?, _ lower: (String, Bool)? = nil, _ upper: (String, Bool)? = nil,
        directly: Bool = false, limit: Int = .max
    ) throws -> [String] {
        var range = DocumentNameRange()
        range.lower = lower.map { .init(DocumentPath(unchecked: $0.0), isInclusive: $0.1) }
        range.upper = upper.map { .init(DocumentPath(unchecked: $0.0), isInclusive: $0.1) }
        let cursor = backend.backend.cursor(
            .descendants(
                of: try parent.map { try DocumentPath($0) }, directly: directly, in: range),
            as: Credentials())
        var paths: [String] = []
        while paths.count < limit {
            let (version, isLast) = try cursor.next(maxBytes: 1) { _, path, _ in
                paths.append(path.string)
            }
            #expect(!version.isNone)
            if isLast { break }
        }
        return paths
    }

    @Test("Descendants are ordered by name across collections")
    func order() throws {
        let all = ["b/a", "c/a", "c/a/d/x", "c/b/d/x/e/y", "cc/a"]
        #expect(try descendants(of: nil) == all)
        #expect(try descendants(of: nil, limit: 2) == ["b/a", "c/a"])
        #expect(try descendants(of: "c/b") == ["c/b/d/x/e/y"])
        #expect(try descendants(of: "c/a") == ["c/a/d/x"])
        #expect(try descendants(of: nil, directly: true) == ["b/a", "c/a", "cc/a"])
        #expect(try descendants(of: "c/a", directly: true) == ["c/a/d/x"])
        #expect(try descendants(of: "c/b", directly: true).isEmpty)
    }

    @Test("Ranges of names include and exclude their bounds correctly")
    func ranges() throws {
        let first = "__id-9223372036854775808__"
        #expect(
            try descendants(of: nil, ("c/\(first)", true), ("c\0/\(first)", true))
                == ["c/a", "c/a/d/x", "c/b/d/x/e/y"])
        #expect(try descendants(of: nil, ("c/a", true), ("c/a/d/x", true)) == ["c/a", "c/a/d/x"])
        #expect(try descendants(of: nil, ("c/a", false), ("c/a/d/x", false)).isEmpty)
        #expect(try descendants(of: nil, ("c/b", true), nil) == ["c/b/d/x/e/y", "cc/a"])
        #expect(try descendants(of: nil, nil, ("c/a", false)) == ["b/a"])
    }

    @Test("Ranges agree with a comparison of every name")
    func differential() throws {
        let all = try descendants(of: nil)
        let ends = all + ["a/a", "b/b", "c/a/d/y", "c/b", "c/b/d/x", "ccc/a"]
        for lower in ends {
            for upper in ends {
                let (low, high) = (try DocumentPath(lower), try DocumentPath(upper))
                let expected = try all.filter {
                    let path = try DocumentPath($0)
                    return low <= path && path <= high
                }
                #expect(try descendants(of: nil, (lower, true), (upper, true)) == expected)
            }
        }
    }

    @Test("A plan is explained without running it, and analyzed with its cost")
    func plans() throws {
        let query = Query(.collection(try CollectionPath("c")))
        let plan = try backend.backend.explain(query)
        #expect(plan.description.contains("collection scan of c"))
        #expect(plan.documentsScanned == 0)
        let (result, version) = try backend.backend.analyze(query)
        #expect(result.documents.map(\.path.string) == ["c/a"])
        #expect(result.execution.documentsScanned == 1)
        #expect(version > result.documents[0].version)
    }

    @Test("A failed precondition has Firestore's message with the full name")
    func words() throws {
        func message(_ mutation: Mutation) -> String? {
            do throws(LarderError) {
                try backend.commit(mutation)
                return nil
            } catch {
                return error.message
            }
        }
        let root = "projects/p/databases/(default)/documents"
        #expect(
            try message(.set("c/a", [:], .exists(false))) == "Document already exists: \(root)/c/a")
        #expect(
            try message(.set("c/none", [:], .exists(true)))
                == "No document to update: \(root)/c/none")
        #expect(
            try message(.set("c/a", [:], .updateTime(.none)))?.contains("required base version")
                == true)
    }
}
