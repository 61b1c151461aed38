import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: watch streams")
struct WatchRegistryTests {
    private let backend: TestBackend

    init() throws {
        backend = try TestBackend()
        try backend.commit(
            .set("c/a", ["n": 1]), .set("c/b", ["n": 2]), .set("d/x", ["n": 1]))
    }

    @Test("A target is added, receives its documents, and becomes current with a snapshot")
    func initial() throws {
        let probe = backend.watch()
        probe.send(.add(1, try .test("c")))
        backend.run()
        #expect(
            probe.mirror.heard == [
                "opened", "added 1", "c/a +1", "c/b +1", "current 1", "snapshot",
            ])
        let snapshot = try #require(probe.mirror.snapshots.last)
        #expect(try snapshot.version == backend.version("c/a"))
        #expect(probe.mirror.documents.values.allSatisfy { $0.version == snapshot.version })
    }

    @Test(
        "A stream that sends requests without reading responses is ended before they fill the memory"
    )
    func askingOn() throws {
        let probe = backend.watch(demand: 0)
        for _ in 0..<10_000 { probe.send(.remove(targetID: 1)) }
        backend.run()
        #expect(probe.mirror.ending == nil)
        probe.send(.remove(targetID: 1))
        backend.run()
        #expect(probe.mirror.ending??.kind == .resourceExhausted)
        #expect(probe.mirror.heard == ["opened", "closed"])
    }

    @Test("A target with nothing in it is current, too")
    func empty() throws {
        let fresh = try TestBackend()
        let probe = fresh.watch()
        probe.send(.add(1, try .test("e")))
        fresh.run()
        #expect(probe.mirror.heard == ["opened", "added 1", "current 1", "snapshot"])
        #expect(probe.mirror.snapshots.allSatisfy { !$0.version.isNone })
    }

    @Test("A commit is sent as one snapshot with added, changed, removed and deleted documents")
    func changes() throws {
        let probe = backend.watch()
        probe.send(.add(1, try .test("c", from: 2)))
        backend.run()
        func said(_ mutations: Mutation...) throws -> [String] {
            try backend.said(to: probe) { try backend.commit(mutations) }
        }
        #expect(try said(.set("c/c", ["n": 3]), .set("c/d", ["n": 1])) == ["c/c +1", "snapshot"])
        #expect(try said(.patch("c/c", ["m": 3])) == ["c/c +1", "snapshot"])
        #expect(
            try said(.patch("c/c", ["n": 0]), .delete("c/b")) == [
                "c/c -1", "c/b gone -1", "snapshot",
            ])
        #expect(probe.mirror.documents[try DocumentPath("c/c")]?.exists == true)
        #expect(probe.mirror.documents(of: 1).isEmpty)
        #expect(probe.mirror.violations == [])
    }

    @Test("All targets of a stream move to the same moment")
    func consistency() throws {
        let probe = backend.watch()
        probe.send(.add(1, try .test("c")))
        probe.send(.add(2, Query(.document(try DocumentPath("d/x")))))
        backend.run()
        let said = try backend.said(to: probe) {
            try backend.commit(.set("c/a", ["n": 5]), .set("d/x", ["n": 6]))
        }
        #expect(said == ["c/a +1", "d/x +2", "snapshot"])
        probe.send(.add(3, try .test("c", from: 5)))
        backend.run()
        #expect(
            try backend.said(to: probe) { try backend.commit(.patch("c/a", ["m": 1])) }
                == ["c/a +1 +3", "snapshot"])
    }

    @Test("A document is watched whether it exists or not")
    func documents() throws {
        let probe = backend.watch()
        probe.send(.add(1, Query(.document(try DocumentPath("c/new")))))
        backend.run()
        #expect(probe.mirror.heard.dropFirst(2) == ["c/new gone -1", "current 1", "snapshot"])
        #expect(
            try backend.said(to: probe) { try backend.commit(.set("c/new", ["n": 1])) }
                == ["c/new +1", "snapshot"])
        #expect(
            try backend.said(to: probe) { try backend.commit(.delete("c/new")) }
                == ["c/new gone -1", "snapshot"])
    }

    /// A target of several documents.
    private func documents(_ id: Int32, _ paths: String...) throws -> WatchRequest {
        let all = try paths.map { Query(.document(try DocumentPath($0))).target }
        return .add(WatchTarget(id: id, target: all[0], others: Array(all.dropFirst())))
    }

    @Test("Several documents form one target: sent, current, and removed together")
    func severalDocuments() throws {
        let probe = backend.watch()
        probe.send(try documents(1, "c/b", "d/x", "c/new"))
        probe.send(try documents(2, "d/x"))
        backend.run()
        #expect(
            probe.mirror.heard.dropFirst(1).prefix(6) == [
                "added 1", "c/b +1", "d/x +1", "c/new gone -1", "current 1", "snapshot",
            ])
        #expect(probe.mirror.heard.contains("d/x +2"))
        #expect(probe.mirror.heard.contains("current 2"))
        let said = try backend.said(to: probe) {
            try backend.commit(.set("c/a", ["n": 5]), .set("d/x", ["n": 6]), .set("c/new", [:]))
        }
        #expect(said == ["d/x +1 +2", "c/new +1", "snapshot"])
        #expect(backend.said(to: probe) { probe.send(.remove(targetID: 1)) } == ["removed 1"])
        #expect(
            try backend.said(to: probe) {
                try backend.commit(.set("c/b", ["n": 5]), .set("d/x", ["n": 7]))
            } == ["d/x +2", "snapshot"])
        #expect(probe.mirror.violations == [])
    }

    @Test("Several documents are resumed together, and counted together")
    func severalDocumentsAgain() throws {
        let probe = backend.watch()
        probe.send(try documents(1, "c/a", "c/b"))
        backend.run()
        let token = try #require(probe.mirror.targets[1]?.resumeToken)
        try backend.commit(.delete("c/b"))
        let again = backend.watch()
        let all = try ["c/a", "c/b"].map { Query(.document(try DocumentPath($0))).target }
        again.send(
            .add(
                WatchTarget(
                    id: 1, target: all[0], others: [all[1]], resumption: .token(token),
                    expectedCount: 2)))
        backend.run()
        #expect(
            again.mirror.heard == [
                "opened", "added 1", "c/a +1", "c/b gone -1", "filter 1 has 1", "current 1",
                "snapshot",
            ])
    }

    @Test("Of several documents one that the rules deny ends the target")
    func severalDocumentsRefused() throws {
        let backend = try TestBackend(rules: { request in
            if case .get(let path) = request.operation, path.string == "c/secret" {
                return .deny(reason: "no")
            }
            return .allow
        })
        let probe = backend.watch(as: "bob")
        probe.send(try documents(1, "c/a", "c/secret"))
        backend.run()
        #expect(probe.mirror.heard == ["opened", "added 1", "removed 1 permissionDenied"])
        #expect(try backend.said(to: probe) { try backend.commit(.set("c/a", ["n": 3])) } == [])
    }

    @Test("A removed target is confirmed and silent; its ID can be reused")
    func removal() throws {
        let probe = backend.watch()
        probe.send(.add(1, try .test("c")))
        backend.run()
        #expect(backend.said(to: probe) { probe.send(.remove(targetID: 1)) } == ["removed 1"])
        #expect(try backend.said(to: probe) { try backend.commit(.set("c/a", ["n": 3])) } == [])
        let said = try backend.said(to: probe) {
            probe.send(.add(1, try .test("d")))
            probe.send(.remove(targetID: 1))
            probe.send(.add(1, try .test("c", from: 3)))
        }
        #expect(said.suffix(3) == ["c/a +1", "current 1", "snapshot"])
        #expect(probe.mirror.violations == [])
        #expect(probe.mirror.documents(of: 1).count == 1)
    }

    @Test("A target that is not sound, or that the rules deny, is added and removed with the cause")
    func refusal() throws {
        let backend = try TestBackend(rules: { request in
            if case .list(let path) = request.operation, path.string == "secret" {
                return .deny(reason: "no")
            }
            return .allow
        })
        let probe = backend.watch(as: "bob")
        probe.send(.add(1, try .test("secret")))
        var unsound = try Query.test("c")
        unsound.limit = .first(0)
        probe.send(.add(2, unsound))
        probe.send(.add(3, try .test("c")))
        backend.run()
        #expect(
            probe.mirror.heard == [
                "opened", "added 1", "removed 1 permissionDenied", "added 2",
                "removed 2 invalidArgument", "added 3", "current 3", "snapshot",
            ])
    }

    @Test("A target that the server refuses is answered in its place, and its number is free again")
    func refusedByServer() throws {
        let heard = Answers<String>()
        let stream = backend.backend.serveWatchStream(as: Credentials()) { event in
            if case .response(let response) = event { heard.add(.success(response.text)) }
        }
        stream.demand(.max)
        let refusal = LarderError(.invalidArgument, "no")
        stream.send(.add(1, try .test("c", from: 2)))
        stream.send(.remove(targetID: 1))
        stream.refuse(targetID: 1, refusal)
        stream.send(.remove(targetID: 1))
        stream.refuse(targetID: 1, refusal)
        stream.send(.add(1, try .test("none")))
        backend.run()
        let refused = ["added 1", "removed 1 invalidArgument"]
        let told = ["added 1", "c/b +1", "current 1", "snapshot", "removed 1"]
        #expect(
            try heard.all.map { try $0.get() }
                == told + refused + ["removed 1"] + refused + ["added 1", "current 1", "snapshot"])
    }

    @Test("A number that is in use or below 1 closes the stream", arguments: [0, -1, 7])
    func numbers(id: Int32) throws {
        let probe = backend.watch()
        probe.send(.add(7, try .test("c")))
        backend.run()
        probe.send(.add(id, try .test("d")))
        probe.send(.add(8, try .test("d")))
        backend.run()
        #expect(probe.mirror.heard.last == "closed")
        #expect(probe.mirror.ending??.kind == .invalidArgument)
    }

    @Test("Without demand nothing is sent; a slow client receives only the last state of documents")
    func demand() throws {
        let probe = backend.watch(demand: 0)
        probe.send(.add(1, try .test("c")))
        backend.run()
        #expect(probe.mirror.heard == ["opened"])
        #expect(backend.said(to: probe) { probe.demand(2) } == ["added 1", "c/a +1"])
        for number in 0..<50 {
            try backend.commit(.set("c/a", ["n": .integer(Int64(number))]))
            try backend.commit(.set("c/b", ["n": .integer(Int64(number))]))
        }
        try backend.commit(.set("c/new", ["n": 1]))
        try backend.commit(.delete("c/new"))
        #expect(backend.said(to: probe) { probe.demand(1) } == ["c/b +1"])
        #expect(
            backend.said(to: probe) { probe.demand(100) }
                == ["c/a +1", "c/b +1", "c/new gone -1", "current 1", "snapshot"])
        #expect(probe.mirror.violations == [])
        #expect(probe.mirror.documents[try DocumentPath("c/a")]?.record == ["n": 49])
        #expect(backend.said(to: probe) { probe.demand(-5) } == [])
        #expect(backend.said(to: probe) { probe.demand(.max) } == [])
    }

    @Test("A new target does not hold up those that are current, and gets no token before it is")
    func loading() throws {
        try backend.commit((0..<300).map { try .set("big/d\($0)", ["n": 1]) })
        let probe = backend.watch(demand: 100)
        probe.send(.add(1, try .test("d")))
        backend.run()
        probe.send(.add(2, try .test("big")))
        backend.run()
        try backend.commit(.set("d/y", ["n": 1]))
        let said = backend.said(to: probe) { probe.demand(1_000) }
        let change = try #require(said.firstIndex(of: "d/y +1"))
        #expect(said[change...].dropFirst().prefix(2) == ["token 1", "snapshot without token"])
        #expect(said.suffix(2) == ["current 2", "snapshot"])
        #expect(probe.mirror.documents(of: 2).count == 300)
        #expect(probe.mirror.violations == [])
    }

    @Test("A document that leaves a target is sent in its new state only to authorized clients")
    func secrecy() throws {
        let backend = try TestBackend(rules: { request in
            if case .get = request.operation, request.userID == "bob" { return .deny(reason: "no") }
            return .allow
        })
        try backend.commit(.set("c/a", ["n": 5]))
        let (bob, ann) = (backend.watch(as: "bob"), backend.watch(as: "ann"))
        for probe in [bob, ann] { probe.send(.add(1, try .test("c", from: 5))) }
        backend.run()
        try backend.commit(.set("c/a", ["n": 0, "secret": true]))
        #expect(bob.mirror.heard.suffix(2) == ["c/a out -1", "snapshot"])
        #expect(ann.mirror.heard.suffix(2) == ["c/a -1", "snapshot"])
    }

    @Test("Streams without changes receive read times in turn")
    func time() throws {
        let probes = (0..<3).map { _ in backend.watch() }
        for probe in probes { probe.send(.add(1, try .test("c"))) }
        backend.run()
        let before = probes.map(\.mirror.snapshots.count)
        for number in 0..<6 { try backend.commit(.set("other/a", ["n": .integer(Int64(number))])) }
        #expect(zip(before, probes).allSatisfy { $1.mirror.snapshots.count == $0 + 2 })
    }

    @Test("Closing ends streams: the client's end, and the backend's")
    func closing() throws {
        let (one, two) = (backend.watch(), backend.watch())
        for probe in [one, two] { probe.send(.add(1, try .test("c"))) }
        backend.run()
        one.close()
        let heard = one.mirror.heard
        try backend.commit(.set("c/a", ["n": 9]))
        #expect(one.mirror.heard == heard)
        try backend.close()
        #expect(one.mirror.heard == heard)
        #expect(two.mirror.ending??.kind == .unavailable)
        let late = backend.watch()
        backend.run()
        #expect(late.mirror.heard == ["closed"])
    }
}

@Suite("Backend: many who watch")
struct WatchSharingTests {
    /// How many queries the backend has looked at.
    private func examinedCount(_ backend: TestBackend) throws -> Int {
        try backend.answer { completion in
            backend.backend.core.answer(completion) { core throws(LarderError) in
                core.watchRegistry.examinedCount
            }
        }
    }

    @Test("Two hundred listeners on one query are one query to look at")
    func sharing() throws {
        let backend = try TestBackend()
        let probes = (0..<200).map { _ in backend.watch() }
        for probe in probes { probe.send(.add(2, try .test("c", from: 1))) }
        backend.run()
        let before = try examinedCount(backend)
        try backend.commit(.set("c/a", ["n": 1]))
        #expect(try examinedCount(backend) == before + 1)
        #expect(probes.allSatisfy { $0.mirror.documents(of: 2).count == 1 })
        for probe in probes.dropLast() { probe.close() }
        try backend.commit(.set("c/b", ["n": 1]))
        #expect(probes.last?.mirror.documents(of: 2).count == 2)
        probes.last?.close()
        try backend.commit(.set("c/c", ["n": 1]))
        #expect(try examinedCount(backend) == before + 2)
    }

    @Test("A commit looks at the queries of its places and values alone")
    func dispatch() throws {
        let backend = try TestBackend()
        let probe = backend.watch()
        let field = try FieldPath("owner")
        for number in 0..<50 {
            let filter = Filter.field(FieldFilter(field, .equal, .integer(Int64(number))))
            probe.send(
                .add(
                    Int32(number * 2 + 2),
                    Query(.collection(try CollectionPath("c")), filters: [filter])))
            probe.send(
                .add(Int32(number * 2 + 1), Query(.document(try DocumentPath("d/x\(number)")))))
        }
        backend.run()
        let before = try examinedCount(backend)
        try backend.commit(.set("c/a", ["owner": 7]), .set("d/x3", [:]), .set("e/a", [:]))
        #expect(try examinedCount(backend) == before + 2)
    }
}
