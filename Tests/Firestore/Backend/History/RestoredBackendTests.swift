import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderBackend

@Suite("Backend: clients of a restored store")
struct RestoredBackendTests {
    typealias Case = RestoredWorld.Case
    typealias Way = RestoredWorld.Way

    private let world: RestoredWorld

    init() throws {
        world = try RestoredWorld()
    }

    @Test(
        "A client that resumes shows the restored state, and what is written then",
        arguments: RestoredWorld.cases)
    func resumed(_ test: Case) throws {
        // No proof, no commits in the future: the client waits for the clock.
        if test.isSetBack, !test.way.keepsKey { return }
        let client = CachingClient()
        client.listen(1, world.query)
        try world.lose(test.way, [client])
        let backend = try world.restore(test)
        client.connect(to: backend)
        try world.expectAgreement(client, backend)
        try world.commit(backend, world.set("d1", 1_000), .delete("c/d7"))
        client.settle(backend)
        try world.expectAgreement(client, backend)
        // Once more, now without a reset.
        let version = try client.version("c/d8")
        try backend.close()
        let reopened = try world.open(test.isSetBack ? world.setBack : world.clock)
        client.connect(to: reopened)
        try world.expectAgreement(client, reopened)
        #expect(try reopened.version("c/d8") == version)
        try reopened.close()
    }

    @Test(
        "A client with a cache and no token shows the restored state",
        arguments: RestoredWorld.cases)
    func withoutToken(_ test: Case) throws {
        guard !test.isSetBack, test.way.isNoticed else { return }
        let client = CachingClient()
        client.listen(1, world.query)
        try world.lose(test.way, [client])
        client.forgetTargets()
        let backend = try world.restore(test)
        client.listen(1, world.query)
        client.connect(to: backend)
        try world.expectAgreement(client, backend)
        try backend.close()
    }

    @Test("A client without a token is told again once another one has proved the loss")
    func toldAgain() throws {
        for way in [Way.snapshot, .importedBefore] {
            let world = try RestoredWorld()
            let (silent, telling) = (CachingClient(), CachingClient())
            for client in [silent, telling] { client.listen(1, world.query) }
            try world.lose(way, [silent, telling])
            silent.forgetTargets()
            silent.listen(1, world.query)
            let backend = try world.restore(Case(way: way, writes: true))
            silent.connect(to: backend)
            telling.connect(to: backend)
            silent.settle(backend)
            try world.expectAgreement(silent, backend)
            try world.expectAgreement(telling, backend)
            try backend.close()
        }
    }

    @Test("A target that knew the copied state learns what another target has seen of the lost one")
    func olderToken() throws {
        let client = CachingClient()
        client.listen(1, world.query)
        let backend = try world.open()
        for number in 0..<10 { try world.commit(backend, world.set("d\(number)", Int64(number))) }
        client.connect(to: backend)
        try backend.backend.core.store.copy(to: world.kept)
        client.close()
        let other = CachingClient()
        other.listen(1, world.query)
        other.connect(to: backend)
        try world.commit(backend, world.set("d1", 100), .delete("c/d2"))
        other.settle(backend)
        try backend.close()
        let restored = try world.restore(Case(way: .copied, writes: false))
        let token = client.token(1)
        #expect(restored.backend.core.floors.withLock { $0.versions.count } == 1)
        let probe = restored.watch()
        probe.send(.add(1, world.query, .token(token)))
        restored.run()
        #expect(probe.mirror.heard.contains("reset 1"))
        try restored.close()
    }
}
