import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: many who watch")
struct BackendWatchSharingTests {
    /// How many queries the backend has looked at.
    private func examinedCount(_ backend: TestBackend) throws -> Int {
        try backend.answer { completion in
            backend.backend.core.answer(completion) { core throws(LarderError) in
                core.watchers.examinedCount
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
