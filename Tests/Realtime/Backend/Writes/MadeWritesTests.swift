import Foundation
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Synchronization
import Testing

@testable import LarderRealtimeBackend

@Suite("Writes that arrive again")
struct MadeWritesTests {
    private let storage = MemoryStorage()

    private func increment(
        _ write: String, of client: String = "c", answered: [String] = [],
        former: [String] = []
    ) -> RealtimeRequest {
        .once(
            WriteToken(client: client, write: write, answered: answered, former: former),
            .put(TreePath("n"), Node(.deferred(.increment(LeafNumber(1)))), hash: nil))
    }

    @Test("are answered and not made again, on this connection and the next ones")
    func again() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = (client.received(), client.listen("n"))
        #expect(client.send(increment("1")) == ["d /n 1", "2 ok"])
        #expect(client.send(increment("1")) == ["3 ok"])
        #expect(client.send(increment("1", of: "d")) == ["d /n 2", "4 ok"])
        client.close()
        let next = backend.connect()
        #expect(next.send(increment("1")) == ["hello z-2", "1 ok"])
        #expect(next.send(increment("2")) == ["2 ok"])
        #expect(backend.tree.description == #"{"n":3}"#)
    }

    @Test("end the sessions that they name first, and no others")
    func formerSessions() throws {
        let backend = TestBackend()
        let (former, other, client) = (backend.connect(), backend.connect(), backend.connect())
        for session in [former, other, client] { _ = session.received() }
        #expect(
            former.send(.onDisconnectPut(TreePath("gone"), Node(.integer(1)))) == ["1 ok"])
        #expect(client.send(increment("1", former: ["z-1", "z-3", "z-9"])) == ["1 ok"])
        _ = former.send(increment("2"))
        #expect(backend.tree.description == #"{"gone":1,"n":1}"#)
        #expect(other.send(increment("3")) == ["1 ok"])
        #expect(client.send(increment("4")) == ["2 ok"])
    }

    @Test("are known after a kill: the commit of a write has its name")
    func kill() throws {
        let backend = try TestBackend(storage: storage)
        _ = backend.connect().send(increment("1"))
        _ = backend.connect().send(increment("2"))
        #expect(storage.state.withLock { $0.commits.count } == 2)
        let reopened = try TestBackend(storage: storage)
        let client = reopened.connect()
        _ = client.received()
        #expect(client.send(increment("2")) == ["1 ok"])
        #expect(client.send(increment("1")) == ["2 ok"])
        #expect(client.send(increment("3")) == ["3 ok"])
        #expect(reopened.tree.description == #"{"n":3}"#)
    }

    @Test("are made if the storage has refused them, or the rules have denied them")
    func refusals() throws {
        let allows = Box(false)
        let backend = try TestBackend(storage: storage) {
            $0.rules = { _ in allows.withLock { $0 } ? .allow : .deny }
        }
        let client = backend.connect()
        _ = client.received()
        #expect(client.send(increment("1")) == ["1 permission_denied"])
        allows.withLock { $0 = true }
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        #expect(client.send(increment("1")) == ["closed resourceExhausted"])
        storage.state.withLock { $0.error = nil }
        let next = backend.connect()
        #expect(next.send(increment("1")) == ["hello z-2", "1 ok"])
        #expect(backend.tree.description == #"{"n":1}"#)
    }

    @Test("are forgotten once the client has their answers")
    func answered() throws {
        let backend = try TestBackend(storage: storage)
        let client = backend.connect()
        for number in 1...5 {
            _ = client.send(increment("\(number)", answered: number > 2 ? ["\(number - 2)"] : []))
        }
        #expect(
            storage.records == [
                "client/c": [#"{"time":1700000000000,"writes":["4","5"]}"#],
                "names/current": [#"{"id":"z"}"#],
            ])
    }

    // MARK: Conditional writes

    private func put(
        _ value: Int, ifHash hash: String, _ write: String
    ) -> RealtimeRequest {
        .once(
            WriteToken(client: "c", write: write),
            .put(TreePath("n"), Node(.integer(Int64(value))), hash: hash))
    }

    @Test("a conditional one that was made is accepted again, whatever the node is by then")
    func conditional() throws {
        let backend = TestBackend()
        let client = backend.connect()
        _ = client.received()
        #expect(client.send(put(1, ifHash: "", "1")) == ["1 ok"])
        try backend.set("n", "5")
        #expect(client.send(put(1, ifHash: "", "1")) == ["2 ok"])
        #expect(backend.tree.description == #"{"n":5}"#)
        // One that was not made is compared with the present node, as often as it arrives.
        #expect(client.send(put(6, ifHash: "", "2")) == ["3 datastale"])
        #expect(client.send(put(6, ifHash: "", "2")) == ["4 datastale"])
        let hash = backend.tree.child(ChildKey("n")).hash
        #expect(client.send(put(6, ifHash: hash, "2")) == ["5 ok"])
        #expect(client.send(put(6, ifHash: hash, "2")) == ["6 ok"])
        #expect(client.send(put(7, ifHash: hash, "3")) == ["7 datastale"])
        #expect(backend.tree.description == #"{"n":6}"#)
    }

    @Test("a conditional one is known after its files were closed and opened again, or copied")
    func files() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("trees")
        let backend = try TestBackend(storage: try StoredTrees(directory: path))
        let client = backend.connect()
        _ = client.received()
        #expect(client.send(put(1, ifHash: "", "1")) == ["1 ok"])
        try backend.set("n", "5")
        // What a kill leaves.
        let copy = directory.file("copy")
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        backend.perform { $0.close { _ in } }
        for path in [path, copy] {
            let reopened = try TestBackend(storage: try StoredTrees(directory: path)) {
                $0.makeIdentity = { 36 }
            }
            let client = reopened.connect()
            #expect(client.receivedEvents().compactMap(\.namesID) == ["z"])
            #expect(client.send(put(1, ifHash: "", "1")) == ["1 ok"])
            #expect(client.send(put(2, ifHash: "", "2")) == ["2 datastale"])
            #expect(reopened.tree.description == #"{"n":5}"#)
            reopened.perform { $0.close { _ in } }
        }
    }

    @Test("their names are identified by the greeting as long as they are kept")
    func identity() throws {
        func namesID(_ storage: MemoryStorage?, identity: UInt64, writes: Bool) throws -> String? {
            let change = { (configuration: inout RealtimeBackendConfiguration) in
                configuration.makeIdentity = { identity }
            }
            let backend =
                if let storage { try TestBackend(storage: storage, change) } else {
                    TestBackend(change)
                }
            let client = backend.connect()
            let id = client.receivedEvents().compactMap(\.namesID).first
            if writes { _ = client.send(increment("1")) }
            return id
        }
        #expect(try namesID(nil, identity: 1, writes: true) == "1")
        #expect(try namesID(nil, identity: 2, writes: true) == "2", "a tree in memory has no names")
        #expect(try namesID(storage, identity: 1, writes: false) == "1")
        #expect(try namesID(storage, identity: 2, writes: true) == "2", "no name was kept")
        #expect(try namesID(storage, identity: 3, writes: true) == "2")
        #expect(try namesID(storage, identity: 4, writes: false) == "2")
        storage.state.withLock { state in
            state.trees["default"]?.records[RecordOwner(.names, "current")] = nil
        }
        #expect(try namesID(storage, identity: 5, writes: true) == "5")
    }

    @Test("a commit that fails does not store what identifies the names; the next one does")
    func failingIdentity() throws {
        let backend = try TestBackend(storage: storage)
        storage.state.withLock { $0.error = LarderError(.resourceExhausted, "full", domain: "x") }
        _ = backend.connect().send(increment("1"))
        #expect(storage.records.isEmpty)
        storage.state.withLock { $0.error = nil }
        _ = backend.connect().send(increment("1"))
        #expect(storage.records["names/current"] == [#"{"id":"z"}"#])
        #expect(storage.state.withLock { $0.commits.last?.contains("current replaced 1") } == true)
        _ = backend.connect().send(increment("2"))
        #expect(storage.state.withLock { $0.commits.last?.contains("current") } == false)
    }

    @Test("are made again for clients that have not written for the longest time")
    func clients() throws {
        var writes = MadeWrites()
        func token(_ client: Int, _ write: Int = 1) -> WriteToken {
            WriteToken(client: "c\(client)", write: "\(write)")
        }
        for client in 0..<MadeWrites.maxClients {
            writes.insert(token(client), at: Int64(client))
        }
        writes.insert(token(0, 2), at: Int64(MadeWrites.maxClients))
        writes.confirm()
        #expect(writes.contains(token(0)) && writes.contains(token(1)))
        writes.insert(token(-1), at: Int64(MadeWrites.maxClients))
        #expect(writes.contains(token(-1)) && writes.contains(token(0)))
        #expect(!writes.contains(token(1)) && writes.contains(token(MadeWrites.maxClients / 5)))
        var commit = TreeCommit()
        writes.addChanges(to: &commit)
        #expect(commit.records[RecordOwner(.client, "c1")]?.values.isEmpty == true)
        #expect(commit.records.count == 1 + MadeWrites.maxClients / 10)
        writes.revert()
        #expect(!writes.contains(token(-1)) && writes.contains(token(1)))
        for write in 0..<MadeWrites.maxWrites { writes.insert(token(7, 10 + write), at: 1) }
        #expect(!writes.contains(token(7)) && writes.contains(token(7, 9 + MadeWrites.maxWrites)))
    }

    @Test("a record that cannot be read is an error")
    func damage() throws {
        for text in ["", "{}", #"{"time":1,"writes":[1]}"#, #"{"id":1}"#] {
            for owner in [RecordOwner(.client, "x"), RecordOwner(.names, "current")] {
                storage.state.withLock {
                    $0.trees["default"] = StoredTree(records: [owner: [Array(text.utf8)]])
                }
                let error = #expect(throws: LarderError.self) { try TestBackend(storage: storage) }
                #expect(error?.kind == .dataLoss)
            }
        }
    }
}
