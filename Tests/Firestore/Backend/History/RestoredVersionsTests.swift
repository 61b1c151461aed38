import Foundation
import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderBackend

@Suite("Backend: versions after a restore")
struct RestoredVersionsTests {
    typealias Case = RestoredWorld.Case

    private let world: RestoredWorld

    init() throws {
        world = try RestoredWorld()
    }

    @Test("All reads and writes have the version of the floor, which preconditions accept")
    func served() throws {
        try world.lose(.copied, [])
        let backend = try world.restore(Case(way: .copied, writes: false))
        let path = try DocumentPath("c/d8")
        let floor = try #require(backend.backend.core.floors.withLock { $0.versions.last })
        let stored = try backend.backend.core.store.read { transaction in
            try #require(try transaction.document(at: path)).version
        }
        #expect(stored < floor)
        #expect(try backend.version("c/d8") == floor)
        #expect(try backend.read(["c/d8"]).map(\.version) == [floor])
        #expect(
            try backend.backend.documents(at: [path], as: Credentials()).readings.map(\.version)
                == [floor])
        var versions: [SnapshotVersion] = []
        _ = try backend.backend.runQuery(world.query, as: Credentials()) { document in
            versions.append(document.version)
            return .continue
        }
        #expect(versions == Array(repeating: floor, count: 10))
        let analyzed = try backend.backend.analyze(world.query)
        #expect(analyzed.result.documents.allSatisfy { $0.version == floor })
        let cursor = backend.backend.cursor(.query(world.query), as: Credentials())
        _ = try cursor.next(maxBytes: .max) { _, _, document in
            #expect(document?.version == floor)
        }
        cursor.close()
        let selected = try backend.answer {
            backend.backend.run(QuerySelection(world.query), as: Credentials(), $0)
        }
        #expect(selected.documents.allSatisfy { $0.version == floor })
        let probe = backend.watch()
        probe.send(.add(1, world.query))
        backend.run()
        #expect(probe.mirror.documents(of: 1).values.allSatisfy { $0.version == floor })
        // A write that changes nothing.
        let same = try backend.commit(.patch("c/d8", ["n": 8], .updateTime(floor)))
        #expect(same.results.map(\.version) == [floor])
        let again = try Mutation.patch("c/d8", ["n": 8], .updateTime(stored))
        let written = try backend.answer {
            backend.backend.write(again, as: Credentials(), $0)
        }
        #expect(written.version == floor)
        let between = SnapshotVersion(
            Timestamp(seconds: floor.timestamp.seconds - 1, nanoseconds: 0))
        #expect(
            code { try backend.commit(.patch("c/d8", ["n": 9], .updateTime(between))) }
                == .failedPrecondition)
        let changed = try backend.commit(.patch("c/d8", ["n": 9], .updateTime(floor)))
        #expect(changed.results[0].version > floor)
        #expect(
            code { try backend.commit(.patch("c/d8", ["n": 10], .updateTime(floor))) }
                == .failedPrecondition)
        #expect(try backend.version("c/d8") == changed.results[0].version)
        try backend.close()
    }

    @Test("A transaction that reads across a new floor commits")
    func transactions() throws {
        let client = CachingClient()
        client.listen(1, world.query)
        try world.lose(.snapshot, [client])
        let backend = try world.restore(Case(way: .snapshot, writes: false))
        let transaction = try backend.backend.beginTransaction()
        let path = try DocumentPath("c/d8")
        let before = try backend.backend.documents(
            at: [path], as: Credentials(), in: transaction
        ).readings[0].version
        client.connect(to: backend)
        #expect(try #require(try backend.version("c/d8")) > before)
        let again = try backend.backend.documents(
            at: [path], as: Credentials(), in: transaction
        ).readings[0].version
        #expect(again == before)
        _ = try backend.commit([.patch("c/d8", ["n": 80])], in: transaction)
        client.settle(backend)
        try world.expectAgreement(client, backend)
        try backend.close()
    }

    @Test("Ordinary restarts change no version, write nothing, and reset no target")
    func restarts() throws {
        let client = CachingClient()
        client.listen(1, world.query)
        var backend = try world.open()
        for number in 0..<10 { try world.commit(backend, world.set("d\(number)", Int64(number))) }
        client.connect(to: backend)
        let version = try backend.version("c/d8")
        for round in 0..<20 {
            // Every other time the process is killed.
            if round % 2 == 0 { try backend.close() }
            if round % 2 == 1 {
                backend.backend.core.transactions.close()
                try backend.backend.core.store.close()
            }
            backend = try world.open()
            let commit = try backend.backend.core.store.read { $0.commitNumber }
            let count = client.snapshotCount
            let probe = backend.watch()
            probe.send(.add(3, world.query, .token(client.token(1))))
            backend.run()
            #expect(!probe.mirror.heard.contains("reset 3"))
            probe.close()
            client.connect(to: backend)
            #expect(client.snapshotCount > count)
            #expect(try backend.version("c/d8") == version)
            #expect(try backend.backend.core.store.read { $0.commitNumber } == commit)
            if round % 3 != 0 { try world.commit(backend, world.set("d1", Int64(round))) }
            client.settle(backend)
            try world.expectAgreement(client, backend)
        }
        #expect(backend.backend.core.floors.withLock { $0.versions.isEmpty })
        try backend.close()
    }

    @Test("Servers that go on from one copy do not take each other's tokens")
    func twoServers() throws {
        let (first, second) = (CachingClient(), CachingClient())
        for client in [first, second] { client.listen(1, world.query) }
        let backend = try world.open()
        for number in 0..<10 { try world.commit(backend, world.set("d\(number)", Int64(number))) }
        try backend.backend.core.store.copy(to: world.kept)
        let other = try world.open(at: world.kept)
        first.connect(to: backend)
        second.connect(to: other)
        for round in 0..<4 {
            try world.commit(backend, world.set("d\(round)", 100), .delete("c/d\(round + 1)"))
            try world.commit(other, world.set("d\(round)", 200), world.set("e\(round)", 1))
            first.settle(backend)
            second.settle(other)
            try world.expectAgreement(first, backend)
            try world.expectAgreement(second, other)
            // They change places.
            first.connect(to: other)
            second.connect(to: backend)
            try world.expectAgreement(first, other)
            try world.expectAgreement(second, backend)
            first.connect(to: backend)
            second.connect(to: other)
        }
        try backend.close()
        try other.close()
    }

    @Test("A store of an earlier version begins with a floor, once, and its tokens are not taken")
    func earlierVersion() throws {
        var backend = try world.open()
        for number in 0..<10 { try world.commit(backend, world.set("d\(number)", Int64(number))) }
        let version = try #require(try backend.version("c/d9"))
        let core = backend.backend.core
        try core.store.write { transaction throws(LarderError) in
            try transaction.removeNamedValue(.global, BackendNames.runs)
            try transaction.removeNamedValue(.global, BackendNames.place)
            try transaction.putNamedValue(
                .global, BackendNames.commitVersion, [], version: version)
        }
        try core.store.close()
        backend = try world.open()
        let floor = try #require(try backend.version("c/d9"))
        #expect(floor > version)
        let probe = backend.watch()
        var token: [UInt8] = [1] + Array(repeating: 7, count: 8)
        token += UInt64(bitPattern: version.timestamp.seconds).littleEndianBytes.reversed()
        token += [0, 0, 0, 0]
        probe.send(.add(1, world.query, .token(token)))
        backend.run()
        #expect(probe.mirror.heard.contains("reset 1"))
        try backend.close()
        backend = try world.open()
        #expect(try backend.version("c/d9") == floor)
        try backend.close()
    }

    @Test("A directory that was moved keeps its tokens; one that was copied begins with a floor")
    func moved() throws {
        var backend = try world.open()
        try world.commit(backend, world.set("d1", 1))
        let version = try backend.version("c/d1")
        try backend.close()
        try FileManager.default.moveItem(atPath: world.data, toPath: world.kept)
        backend = try world.open(at: world.kept)
        #expect(try backend.version("c/d1") == version)
        try backend.close()
        try FileManager.default.copyItem(atPath: world.kept, toPath: world.data)
        backend = try world.open()
        #expect(try #require(try backend.version("c/d1")) > #require(version))
        try backend.close()
    }

    @Test("Documents that a tool has imported before the first opening are served with its version")
    func importedByTool() throws {
        let store = try Store(StoreConfiguration(directory: world.data))
        let early = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
        try store.write { transaction throws(LarderError) in
            try transaction.put(
                Record(["n": 1]), at: DocumentPath("c/d1"), version: early)
        }
        try store.close()
        let backend = try world.open()
        #expect(
            try #require(try backend.version("c/d1"))
                >= SnapshotVersion(Timestamp(seconds: 1_700_000_000, nanoseconds: 0)))
        try backend.close()
    }
}
