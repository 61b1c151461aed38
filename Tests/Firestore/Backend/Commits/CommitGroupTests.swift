import LarderBackend
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@Suite("Backend: commits")
struct CommitGroupTests {
    @Test("Versions rise with every commit, by a microsecond where the clock stands still")
    func versions() throws {
        let clock = ManualClock()
        let backend = try TestBackend(clock: clock)
        let first = try backend.commit(.set("c/a", ["n": 1])).commitVersion
        let second = try backend.commit(.set("c/b", ["n": 1])).commitVersion
        #expect(second.timestamp.nanoseconds == first.timestamp.nanoseconds + 1000)
        clock.advance(by: .seconds(1))
        let third = try backend.commit(.set("c/a", ["n": 2]))
        #expect(third.commitVersion.timestamp == clock.timestamp)
        #expect(third.results.map(\.version) == [third.commitVersion])
        #expect(try backend.version("c/a") == third.commitVersion)
        #expect(try backend.version("c/b") == second)
    }

    @Test("Versions rise over restarts, also with a clock that was set back")
    func restart() throws {
        let directory = try TemporaryDirectory()
        let clock = ManualClock()
        clock.advance(by: .seconds(100))
        let before = try TestBackend(directory: directory.path, clock: clock)
        let version = try before.commit(.set("c/a", ["n": 1])).commitVersion
        try before.close()
        let after = try TestBackend(directory: directory.path)
        #expect(try after.version("c/a") == version)
        #expect(try after.commit(.set("c/a", ["n": 2])).commitVersion > version)
    }

    @Test("A document keeps its create time until it is deleted")
    func createTimes() throws {
        let backend = try TestBackend()
        func createTime() throws -> Timestamp? {
            try backend.backend.document(at: DocumentPath("c/a"))?.createTime
        }
        let created = try backend.commit(.set("c/a", ["n": 1])).commitVersion
        try backend.commit(.set("c/a", ["n": 2]))
        try backend.commit(.patch("c/a", ["m": 2]))
        #expect(try createTime() == created.timestamp)
        try backend.commit(.delete("c/a"))
        #expect(try createTime() == nil)
        let again = try backend.commit(.patch("c/a", ["n": 3])).commitVersion
        #expect(try createTime() == again.timestamp)
    }

    @Test("A set replaces, a patch changes the fields of its mask, a delete removes")
    func operations() throws {
        let backend = try TestBackend()
        try backend.commit(.set("c/a", ["x": 1, "m": ["p": 1, "q": 2]]))
        try backend.commit(.patch("c/a", ["m": ["q": 3]], mask: ["m.q", "x"]))
        #expect(try backend.fields("c/a") == ["m": ["p": 1, "q": 3]])
        try backend.commit(.set("c/a", ["y": 1]))
        #expect(try backend.fields("c/a") == ["y": 1])
        try backend.commit(.delete("c/a"))
        #expect(try backend.fields("c/a") == nil)
        try backend.commit(.patch("c/a", ["z": 1]))
        #expect(try backend.fields("c/a") == ["z": 1])
    }

    @Test("Mutations of one commit see those before them; none is made where one is refused")
    func atomicity() throws {
        let backend = try TestBackend()
        try backend.commit(
            .set("c/a", ["n": 1], .exists(false)), .patch("c/a", ["m": 2], .exists(true)),
            .delete("c/b"))
        #expect(try backend.fields("c/a") == ["n": 1, "m": 2])
        #expect(
            code {
                try backend.commit(
                    .set("c/a", ["n": 9]), .set("c/b", ["n": 9]),
                    .patch("c/c", ["n": 9], .exists(true)))
            } == .notFound)
        #expect(try backend.fields("c/a") == ["n": 1, "m": 2])
        #expect(try backend.backend.documentCount() == 1)
    }

    @Test("Preconditions with existing and absent documents", arguments: [false, true])
    func preconditions(exists: Bool) throws {
        let backend = try TestBackend()
        var version = try backend.commit(.delete("c/a")).commitVersion
        func prepare() throws {
            version = try backend.commit(
                exists
                    ? .set("c/a", ["n": 1, "time": .timestamp(version.timestamp)])
                    : .delete("c/a")
            ).commitVersion
        }
        func codes(_ precondition: () -> Precondition) throws -> [LarderError.Code?] {
            try (0..<4).map { kind in
                try prepare()
                let precondition = precondition()
                return code {
                    switch kind {
                    case 0: try backend.commit(.set("c/a", ["n": 2], precondition))
                    case 1: try backend.commit(.patch("c/a", ["n": 2], precondition))
                    case 2: try backend.commit(.delete("c/a", precondition))
                    default: try backend.commit(.verify("c/a", precondition))
                    }
                }
            }
        }
        func all(_ code: LarderError.Code?) -> [LarderError.Code?] { [code, code, code, code] }
        let wrong = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
        #expect(try codes { .none } == all(nil))
        #expect(try codes { .exists(true) } == all(exists ? nil : .notFound))
        #expect(try codes { .exists(false) } == all(exists ? .alreadyExists : nil))
        #expect(try codes { .updateTime(version) } == all(exists ? nil : .failedPrecondition))
        #expect(try codes { .updateTime(wrong) } == all(.failedPrecondition))
    }

    @Test("Contradicting writes of one document are refused, regardless of its state")
    func contradictions() throws {
        let backend = try TestBackend()
        let wrong = Precondition.updateTime(
            SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0)))
        func refusal(_ mutations: Mutation...) -> String? {
            do throws(LarderError) {
                try backend.commit(mutations)
                return nil
            } catch {
                return error.kind == .invalidArgument ? error.message : "\(error.kind)"
            }
        }
        func words(_ first: String, _ second: String) -> String {
            "Cannot \(first) then \(second) an entity in the same request."
        }
        let set = try Mutation.set("c/a", ["n": 1])
        let create = try Mutation.set("c/a", ["n": 1], .exists(false))
        let update = try Mutation.patch("c/a", ["n": 1], .exists(true))
        let delete = try Mutation.delete("c/a")
        let other = try Mutation.set("c/b", ["n": 1])
        for isThere in [false, true] {
            try backend.commit(isThere ? set : delete)
            #expect(refusal(set, create) == words("upsert", "insert"))
            #expect(refusal(create, create) == words("insert", "insert"))
            #expect(refusal(update, other, create) == words("update", "insert"))
            #expect(refusal(delete, update) == words("delete", "update"))
            #expect(refusal(delete, set, create) == words("upsert", "insert"))
            #expect(
                refusal(set, try .delete("c/a", .exists(false))) == words("upsert", "delete"))
            #expect(
                refusal(delete, other, try .delete("c/a", .exists(true)))
                    == words("delete", "delete"))
            #expect(
                refusal(delete, try .set("c/a", ["n": 1], wrong)) == words("delete", "update"))
            #expect(
                refusal(set, try .delete("c/a", wrong))
                    == "Cannot collapse mutations with different version preconditions")
            let verify = try Mutation.verify("c/a", .exists(isThere))
            let once = "the same document cannot be "
            #expect(
                refusal(verify, verify)
                    == once + "verified more than once in a single request")
            #expect(
                refusal(verify, set) == once + "verified and then written in a single request")
            #expect(
                refusal(set, verify) == once + "written and then verified in a single request")
            #expect(try backend.fields("c/a") == (isThere ? ["n": 1] : nil))
        }
        #expect(try backend.fields("c/b") == nil)
    }

    @Test("Writes of one document that agree are made in their order")
    func sequences() throws {
        let backend = try TestBackend()
        try backend.commit(
            .set("c/a", ["n": 1], .exists(false)), .patch("c/a", ["m": 2], .exists(true)),
            .delete("c/a", .exists(true)), .set("c/a", ["k": 3], .exists(false)))
        #expect(try backend.fields("c/a") == ["k": 3])
        // The version is that which the document had before the commit.
        let version = Precondition.updateTime(try #require(try backend.version("c/a")))
        try backend.commit(
            .patch("c/a", ["n": 1], version), .patch("c/a", ["m": 2]),
            .patch("c/a", ["l": 3], version))
        #expect(try backend.fields("c/a") == ["k": 3, "n": 1, "m": 2, "l": 3])
        let next = Precondition.updateTime(try #require(try backend.version("c/a")))
        try backend.commit(.delete("c/a", next), .delete("c/a", next))
        #expect(try backend.fields("c/a") == nil)
        let again = code { try backend.commit(.delete("c/a", next), .delete("c/a", next)) }
        #expect(again == .failedPrecondition)
    }

    @Test("A write that changes nothing leaves the document its version")
    func unchanged() throws {
        let backend = try TestBackend()
        let first = try backend.commit(.set("c/a", ["n": 1])).commitVersion
        let second = try backend.commit(.set("c/a", ["n": 1]), .patch("c/a", ["n": 1]))
        #expect(second.commitVersion > first)
        #expect(second.results.map(\.version) == [first, first])
        #expect(try backend.version("c/a") == first)
        let third = try backend.commit(.set("c/a", ["n": 1.0]))
        #expect(third.results.map(\.version) == [third.commitVersion])
        #expect(try backend.version("c/a") == third.commitVersion)
    }

    @Test("Commits that wait are made in order, each for itself")
    func groups() throws {
        let backend = try TestBackend()
        let answers = (0..<3).map { _ in Answers<CommitResponse>() }
        let commits: [[Mutation]] = [
            [try .set("c/a", ["n": 1], .exists(false))],
            [try .set("c/b", ["n": 1]), try .set("c/a", ["n": 2], .exists(false))],
            [try .patch("c/a", [:], .exists(true), transforms: [.init("n", .increment(10))])],
        ]
        for (answer, commit) in zip(answers, commits) {
            backend.backend.commit(commit, as: Credentials()) { answer.add($0) }
        }
        backend.run()
        let results = answers.compactMap(\.all.first)
        let versions = results.compactMap { try? $0.get().commitVersion }
        #expect(versions.count == 2 && versions[0] < versions[1])
        #expect(code { _ = try results[1].get() } == .alreadyExists)
        #expect(try backend.fields("c/a") == ["n": 11])
        #expect(try backend.fields("c/b") == nil)
    }

    @Test("Batch reads are of one commit, in the order that was asked for")
    func reads() throws {
        let backend = try TestBackend()
        let first = try backend.commit(.set("c/a", ["n": 1])).commitVersion
        let second = try backend.commit(.set("c/b", ["n": 2])).commitVersion
        let readings = try backend.read(["c/x", "c/b", "c/a"])
        #expect(readings.map(\.path.string) == ["c/x", "c/b", "c/a"])
        #expect(readings.map(\.exists) == [false, true, true])
        #expect(readings.map(\.version) == [second, second, first])
    }

    @Test("After closing all requests are rejected, including waiting ones")
    func closing() throws {
        let backend = try TestBackend()
        let answers = Answers<CommitResponse>()
        let mutation = try Mutation.set("c/a", ["n": 1])
        backend.backend.close { _ in }
        backend.backend.commit([mutation], as: Credentials()) { answers.add($0) }
        backend.run()
        #expect(code { _ = try answers.all.first?.get() } == .unavailable)
        #expect(code { _ = try backend.read(["c/a"]) } == .unavailable)
        try backend.close()
    }
}
