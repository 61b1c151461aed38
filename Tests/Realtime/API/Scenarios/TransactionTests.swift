import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import Testing

@Suite("Transactions")
struct RealtimeTransactionTests {
    private func increment(_ test: DatabaseUnderTest, _ name: String) -> (
        (MutableData) -> TransactionResult, ((any Error)?, Bool, DataSnapshot?) -> Void
    ) {
        (
            { data in
                test.note("\(name) sees \(json(data.value))")
                data.value = (data.value as? Int ?? 0) + 1
                return .success(withValue: data)
            },
            { error, isCommitted, snapshot in
                let outcome = error.map { "failed \(($0 as NSError).code)" }
                test.note(
                    "\(name) \(outcome ?? "\(isCommitted)") \(snapshot?.json ?? "-")")
            }
        )
    }

    private func run(_ place: DatabaseReference, _ test: DatabaseUnderTest, as name: String) {
        let (block, completion) = increment(test, name)
        place.runTransactionBlock(block, andCompletionBlock: completion)
    }

    @Test("The block sees null first, then the server's data", arguments: TestStorage.allCases)
    func staleData(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(41))
        let client = try world.client()
        run(client.database.reference(withPath: "n"), client, as: "t")
        #expect(world.read(client) == ["t sees null", "t sees 41", "t true 42"])
        #expect(world.data(at: "n") == "42")
    }

    /// What has cached a part of a location with six children.
    enum PartialCache: CaseIterable {
        case window, get, childOnce, child, ownWrite, nothing
    }

    @Test(
        "The block is given cached data only if it is all of the location's",
        arguments: PartialCache.allCases, TestStorage.allCases)
    func partialData(_ cached: PartialCache, _ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let children = (1...6).map { JSONMember("k\($0)", .integer(Int64($0))) }
        try world.put("room", .object(children))
        let client = try world.client()
        let room = client.database.reference(withPath: "room")
        switch cached {
        case .window: client.observe(room.queryOrderedByKey().queryLimited(toFirst: 2), [.value])
        case .get:
            room.queryOrderedByKey().queryLimited(toFirst: 2).getData { _, _ in }
        case .childOnce: room.child("k1").observeSingleEvent(of: .value) { _ in }
        case .child: client.observe(room.child("k1"), [.value])
        case .ownWrite: room.child("k1").setValue(1)
        case .nothing: break
        }
        _ = world.read(client)
        var seen: [UInt] = []
        room.runTransactionBlock { data in
            seen.append(data.childrenCount)
            guard data.childrenCount > 0 else { return .success(withValue: data) }
            guard data.childrenCount == 6 else { return .abort() }
            data.childData(byAppendingPath: "k7").value = 7
            return .success(withValue: data)
        }
        world.drain()
        #expect(seen == [0, 6], "\(cached)")
        #expect(world.data(at: "room/k7") == "7", "\(cached)")
    }

    @Test("The block is given what a listener of all data has cached, also offline after a restart")
    func completeData() throws {
        let world = DatabaseWorld(.disk)
        try world.put(
            "room", .object([JSONMember("a", .integer(1)), JSONMember("b", .integer(2))]))
        let first = try world.client(named: "store")
        first.observe(first.database.reference(withPath: "room"), [.value])
        _ = world.read(first)
        world.close(first)
        world.drain()
        let client = try world.client(named: "store") { $0.startsOffline = true }
        var seen: [UInt] = []
        for path in ["room", "room/a"] {
            client.database.reference(withPath: path).runTransactionBlock { data in
                seen.append(data.childrenCount)
                if path == "room/a" { #expect(json(data.value) == "1") }
                return .success(withValue: data)
            }
            world.drain()
        }
        #expect(seen == [2, 0])
    }

    @Test(
        "The output is shown at once; the next transaction runs on it, once",
        arguments: TestStorage.allCases)
    func chain(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        run(place, client, as: "a")
        run(place, client, as: "b")
        #expect(
            world.read(client) == [
                "a sees 1", "b sees 2", "value 2", "value 3", "a true 2", "b true 3",
            ])
        #expect(world.data(at: "n") == "3")
    }

    @Test(
        "Offline transactions wait, show their output, and run again if the data is another",
        arguments: TestStorage.allCases)
    func offline(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        run(place, client, as: "t")
        #expect(world.read(client) == ["t sees 1", "value 2"])
        try world.put("n", .integer(10))
        client.database.goOnline()
        let lines = world.read(client)
        #expect(lines.last == "t true 11" && lines.contains("t sees 10"))
        #expect(world.data(at: "n") == "11")
    }

    @Test("An abort tells what was found", arguments: TestStorage.allCases)
    func abort(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        place.runTransactionBlock(
            { _ in .abort() },
            andCompletionBlock: { error, isCommitted, snapshot in
                client.note("\(error == nil) \(isCommitted) \(snapshot?.json ?? "-")")
            })
        #expect(world.read(client) == ["true false 1"])
    }

    @Test(
        "A write at the place, above or below ends it; an update only if it overlaps",
        arguments: TestStorage.allCases)
    func conflicts(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        client.database.goOffline()
        world.drain()
        let root = client.database.reference(withPath: "r")
        for name in ["a", "b", "c", "d"] {
            run(root.child(name), client, as: name)
            // It waits for the one before it, which is in the outbox.
            run(root.child(name), client, as: name + name)
        }
        _ = world.read(client)
        root.updateChildValues(["a": 5, "x": 1])
        #expect(world.read(client) == ["aa failed 9999 -"])
        root.child("b/deep").setValue(1)
        #expect(world.read(client) == ["bb failed 9999 -"])
        root.setValue(["y": 2])
        #expect(world.read(client) == ["cc failed 9999 -", "dd failed 9999 -"])
    }

    @Test(
        "One in the outbox that is overridden commits on its data, and is not run again",
        arguments: TestStorage.allCases)
    func overriddenInOutbox(_ storage: TestStorage) throws {
        for (isStale, outcome) in [(false, "t true 2"), (true, "t failed 9999 -")] {
            let world = DatabaseWorld(storage)
            try world.put("n", .integer(1))
            let client = try world.client()
            let place = client.database.reference(withPath: "n")
            client.observe(place, [.value])
            _ = world.read(client)
            client.database.goOffline()
            world.drain()
            run(place, client, as: "t")
            place.setValue(7)
            #expect(world.read(client) == ["t sees 1", "value 2", "value 7"])
            if isStale { try world.put("n", .integer(5)) }
            client.database.goOnline()
            #expect(world.read(client) == [outcome])
            #expect(world.data(at: "n") == "7")
        }
    }

    @Test(
        "Without local events observers see what the server has accepted only",
        arguments: TestStorage.allCases)
    func withoutLocalEvents(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        client.database.goOffline()
        world.drain()
        let (block, completion) = increment(client, "t")
        place.runTransactionBlock(block, andCompletionBlock: completion, withLocalEvents: false)
        #expect(world.read(client) == ["t sees 1"])
        client.database.goOnline()
        #expect(world.read(client) == ["value 2", "t true 2"])
    }

    @Test(
        "One that was sent is answered on the next connection, one that was not is sent there",
        arguments: TestStorage.allCases)
    func lostConnection(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        world.backend.holdResponses(true)
        world.drain()
        run(place, client, as: "sent")
        #expect(world.read(client) == ["sent sees 1", "value 2"])
        world.dropConnections()
        world.backend.holdResponses(false)
        #expect(world.read(client) == [], "its output stays")
        run(place, client, as: "waiting")
        #expect(world.read(client) == ["waiting sees 2", "value 3"])
        world.advance(by: .seconds(2))
        #expect(world.read(client) == ["sent true 2", "waiting true 3"])
        #expect(world.data(at: "n") == "3")
    }

    @Test(
        "One that was sent ends when the application goes offline, and may have been applied",
        arguments: TestStorage.allCases, [true, false])
    func sentBeforeGoingOffline(_ storage: TestStorage, isConnected: Bool) throws {
        let world = DatabaseWorld(storage)
        try world.put("n", .integer(1))
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        world.backend.holdResponses(true)
        world.drain()
        run(place, client, as: "sent")
        #expect(world.read(client) == ["sent sees 1", "value 2"])
        if !isConnected { world.dropConnections() }
        client.database.goOffline()
        world.backend.holdResponses(false)
        #expect(world.read(client).last == "sent failed 9999 -")
        client.database.goOnline()
        run(place, client, as: "next")
        #expect(world.read(client).last == "next true 3", "the first one was applied")
    }

    @Test("A transaction is given up after twenty-five attempts", arguments: TestStorage.allCases)
    func retries(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        let count = Counter()
        client.observe(place, [.value])
        _ = world.read(client)
        place.runTransactionBlock(
            { data in
                // Another client is faster each time.
                count.value += 1
                world.backend.setRules { _ in .allow }
                try? world.put("n", .integer(Int64(1000 + count.value)))
                data.value = count.value
                return .success(withValue: data)
            },
            andCompletionBlock: { error, isCommitted, _ in
                client.note("\((error as? DatabaseError)?.kind as Any) \(isCommitted)")
            })
        let lines = world.read(client)
        #expect(lines.last?.contains("aborted") == true && count.value == 25)
    }

    @Test(
        "A transaction the rules forbid fails, and its output is reverted",
        arguments: TestStorage.allCases)
    func refusal(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage) {
            $0.rules = { $0.operation == .write ? .deny : .allow }
        }
        let client = try world.client()
        let place = client.database.reference(withPath: "n")
        client.observe(place, [.value])
        _ = world.read(client)
        run(place, client, as: "t")
        #expect(
            world.read(client) == ["t sees null", "value 1", "value null", "t failed 1 -"])
    }

    @Test("Unusual keys and arrays pass through a transaction", arguments: TestStorage.allCases)
    func unusualData(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("x", .object([JSONMember("ü😀\u{FFFD}", .array([.integer(1), .integer(2)]))]))
        let client = try world.client()
        client.database.reference(withPath: "x").runTransactionBlock(
            { data in
                data.childData(byAppendingPath: "seen").value = true
                return .success(withValue: data)
            },
            andCompletionBlock: { _, isCommitted, snapshot in
                client.note("\(isCommitted) \(snapshot?.childrenCount ?? 0)")
            })
        #expect(world.read(client).last == "true 2")
    }

    private final class Counter {
        var value = 0
    }
}
