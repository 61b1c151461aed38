import LarderBackend
import LarderModel
import LarderQuery
import LarderRemote
import Synchronization
import Testing

@Suite("Backend: rules")
struct BackendRulesTests {
    /// Lets "ann" do everything, and others what the closure says.
    private func backend(_ rules: @escaping Backend.Rules) throws -> TestBackend {
        try TestBackend(rules: { $0.userID == "ann" ? .allow : rules($0) })
    }

    @Test("The operation of a request depends on the existing document")
    func operations() throws {
        let seen = Answers<Backend.Request>()
        let backend = try backend {
            seen.add(.success($0))
            return .allow
        }
        try backend.commit(.set("c/a", ["n": 1]), .patch("c/a", ["m": 2]), as: "bob")
        try backend.commit(.verify("c/a", .exists(true)), as: "bob")
        try backend.commit(.delete("c/a"), as: "bob")
        _ = try backend.read(["c/a"], as: "bob")
        let path = try DocumentPath("c/a")
        let requests = try seen.all.map { try $0.get() }
        #expect(
            requests.map(\.operation) == [
                .create(path), .update(path), .get(path), .delete(path), .get(path),
            ])
        #expect(requests.map { $0.existing?.fields.count } == [nil, 1, 2, 2, nil])
        #expect(requests.map { $0.written?.count } == [1, 2, 2, nil, nil])
        #expect(requests.allSatisfy { $0.userID == "bob" })
    }

    @Test("Denied requests have no effect and report the reason")
    func denial() throws {
        let backend = try backend { request in
            if case .create = request.operation { return .deny(reason: "no") }
            return .allow
        }
        #expect(
            code { try backend.commit(.set("c/a", ["n": 1]), as: "bob") } == .permissionDenied)
        #expect(try backend.fields("c/a") == nil)
        try backend.commit(.set("c/a", ["n": 1]), as: "ann")
        try backend.commit(.set("c/a", ["n": 2]), as: "bob")
        #expect(try backend.fields("c/a") == ["n": 2])
    }

    @Test("Who may not write does not learn whether a document exists")
    func secrecy() throws {
        let backend = try backend { _ in .deny(reason: "no") }
        try backend.commit(.set("c/a", ["n": 1]), as: "ann")
        for path in ["c/a", "c/b"] {
            for precondition in [Precondition.exists(true), .exists(false)] {
                #expect(
                    code { try backend.commit(.patch(path, ["n": 2], precondition), as: "bob") }
                        == .permissionDenied)
            }
        }
    }

    @Test("Reads, queries and aggregations are authorized by document, collection or group")
    func reads() throws {
        let allowed = Mutex<Backend.Request.Operation?>(nil)
        let backend = try backend { request in
            allowed.withLock { $0 } == request.operation ? .allow : .deny(reason: "no")
        }
        let path = try DocumentPath("c/a")
        let queries: [(Backend.Request.Operation, Query)] = [
            (.get(path), Query(.document(path))),
            (.list(path.parent), Query(.collection(path.parent))),
            (.listGroup("c"), Query(.group("c"))),
        ]
        try backend.commit(.set("c/a", ["n": 1]), as: "ann")
        let bob = Credentials(userID: "bob")
        for (operation, _) in queries {
            allowed.withLock { $0 = operation }
            for (asked, query) in queries {
                let expected: LarderError.Code? = asked == operation ? nil : .permissionDenied
                #expect(
                    code {
                        _ = try backend.backend.runQuery(query, as: bob) { _ in .continue }
                    } == expected)
                #expect(
                    code {
                        _ = try backend.answer {
                            backend.backend.aggregate([.count], over: query.target, as: bob, $0)
                        }
                    } == expected)
            }
        }
        allowed.withLock { $0 = nil }
        #expect(code { _ = try backend.read(["c/a"], as: "bob") } == .permissionDenied)
    }
}
