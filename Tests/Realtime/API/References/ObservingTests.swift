import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeModel
import LarderRealtimeSync
import LarderSharedTestSupport
import Testing

@Suite("Observers")
struct ObservingTests {
    @Test("Events come in order: removed, added, moved, changed, value")
    func order() throws {
        let test = try DatabaseUnderTest()
        let scores = test.database.reference(withPath: "scores")
        scores.setValue(["a": 1, "b": 2, "c": 3])
        test.observe(scores.queryOrderedByValue())
        #expect(
            test.read() == [
                "childAdded a 1", "childAdded b 2 after a", "childAdded c 3 after b",
                #"value {"a":1,"b":2,"c":3}"#,
            ])
        scores.updateChildValues(["a": 9, "b": NSNull(), "d": 4])
        #expect(
            test.read() == [
                "childRemoved b 2", "childAdded d 4 after c", "childMoved a 9 after d",
                "childChanged a 9 after d", #"value {"a":9,"c":3,"d":4}"#,
            ])
    }

    @Test("Nothing arrives after a removal, not even what waits on the callback queue")
    func removal() throws {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "a")
        place.setValue(0)
        let handles = test.observe(place, as: "first", [.value])
        test.observe(place, as: "second", [.value])
        #expect(test.read() == ["first value 0", "second value 0"])
        place.setValue(1)
        test.drainEngine()
        place.removeObserver(withHandle: handles[0])
        #expect(test.read() == ["second value 1"])
        place.setValue(2)
        test.drainEngine()
        place.removeAllObservers()
        #expect(test.read().isEmpty)
    }

    @Test("A plain reference removes observers of every query at its location, a query its own")
    func removalByQuery() throws {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "a")
        place.setValue(["x": 1, "y": 2])
        let last = place.queryLimited(toLast: 1)
        let lastHandle = test.observe(last, as: "last", [.childAdded])[0]
        let plainHandle = test.observe(place, as: "plain", [.childAdded])[0]
        test.observe(place.child("x"), as: "child", [.value])
        _ = test.read()
        last.removeObserver(withHandle: plainHandle)
        place.queryLimited(toFirst: 1).removeAllObservers()
        place.child("z").setValue(3)
        #expect(test.read().sorted() == ["last childAdded z 3", "plain childAdded z 3 after y"])
        place.removeObserver(withHandle: lastHandle)
        place.child("zz").setValue(4)
        #expect(test.read() == ["plain childAdded zz 4 after z"])
        place.removeAllObservers()
        place.setValue(["x": 5])
        #expect(test.read() == ["child value 5"])
    }

    @Test("An observer may remove itself and add others in its callback")
    func removalInCallback() throws {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "a")
        place.setValue(1)
        var handle: DatabaseHandle?
        handle = place.observe(.value) { snapshot in
            test.note("outer \(snapshot.json)")
            if let handle { place.removeObserver(withHandle: handle) }
            place.observe(.value) { test.note("inner \($0.json)") }
        }
        #expect(test.read() == ["outer 1", "inner 1"])
        place.setValue(2)
        #expect(test.read() == ["inner 2"])
    }

    @Test("A single event is delivered once, whatever happens meanwhile")
    func singleEvents() throws {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "a")
        place.setValue(1)
        place.observeSingleEvent(of: .value) { test.note("value \($0.json)") }
        place.setValue(2)
        place.setValue(3)
        #expect(test.read() == ["value 1"])
        place.setValue(["x": 1, "y": 2])
        place.observeSingleEvent(of: .childAdded) { snapshot, previous in
            test.note("added \(snapshot.key) \(previous ?? "-")")
        }
        #expect(test.read() == ["added x -"])
        place.child("z").setValue(1)
        #expect(test.read().isEmpty)
    }

    @Test("Snapshots tell whether data is complete, confirmed and written here")
    func metadata() throws {
        let test = try DatabaseUnderTest()
        let place = test.database.reference(withPath: "a")
        place.child("b").setValue(1)
        place.observe(.childAdded) { snapshot in
            let metadata = snapshot.metadata
            test.note(
                "\(metadata.isComplete) \(metadata.isFromCache) \(metadata.hasPendingWrites)")
        }
        #expect(test.read() == ["false true true"], "other children may exist at the server")
    }

    @Test("A closed database cancels observers and refuses writes")
    func closed() throws {
        let test = try DatabaseUnderTest()
        test.close()
        let place = test.database.reference(withPath: "a")
        test.observe(place, [.value])
        place.setValue(1, withCompletionBlock: test.completion("set"))
        place.getData { error, _ in test.note("\((error as? DatabaseError)?.kind as Any)") }
        let lines = test.read()
        #expect(lines[0] == "cancelled 9999" && lines[1] == "set failed 9999")
        #expect(lines[2].contains("failedPrecondition"))
        test.database.goOnline()
        test.database.purgeOutstandingWrites()
        place.keepSynced(true)
        #expect(test.database.connectionState.reason == .closed)
    }
}

@Suite("Observers as sequences")
struct ObservingSequencesTests {
    private func database() throws -> Database {
        var configuration = DatabaseConfiguration.inMemory
        configuration.callbackQueue = DispatchQueue(label: "test")
        return try Database(configuration: configuration)
    }

    @Test("Values and events of children arrive as sequences")
    func sequences() async throws {
        let database = try database()
        let place = database.reference(withPath: "a")
        place.enqueueSetValue(["x": 1])
        try await withDeadline(.seconds(60)) {
            var values = place.values.makeAsyncIterator()
            let first = try await values.next()
            #expect((first?.value as? [String: Int]) == ["x": 1])
            var children = place.childEvents.makeAsyncIterator()
            let added = try await children.next()
            #expect(added?.type == .childAdded && added?.snapshot.key == "x")
            place.child("y").enqueueSetValue(2)
            let next = try await children.next()
            #expect(next?.snapshot.key == "y" && next?.previousSiblingKey == "x")
            let second = try await values.next()
            #expect((second?.value as? [String: Int]) == ["x": 1, "y": 2])
        }
        try await database.close()
    }

    @Test("Single events and committed writes can be awaited")
    func awaiting() async throws {
        let database = try database()
        let place = database.reference(withPath: "a")
        try await withDeadline(.seconds(60)) {
            let id = try await place.enqueueSetValue(7).committedLocally()
            #expect(id != nil)
            #expect(await place.observeSingleEvent(of: .value).value as? Int == 7)
            let pending = try await database.pendingWrites()
            #expect(pending.map(\.id) == [id] && pending[0].kind == .set)
            #expect(pending[0].changes[0].value as? Int == 7)
            #expect(try await place.getData().value as? Int == 7)
            let cancelled = try await database.cancelPendingWrite(#require(id))
            #expect(cancelled)
            #expect(try await database.pendingWrites().isEmpty)
        }
        try await database.close()
    }

    @Test("A task that is cancelled ends its sequence, and its wait")
    func cancellation() async throws {
        let database = try database()
        let place = database.reference(withPath: "a")
        try await withDeadline(.seconds(60)) {
            let task = Task {
                for try await _ in place.values {}
                return await place.observeSingleEvent(of: .value).metadata.isComplete
            }
            task.cancel()
            let isComplete = try await task.value
            #expect(!isComplete)
        }
        try await database.close()
    }

    @Test(
        "A child that a pending write has made room for stays when its own write is acknowledged",
        arguments: TestStorage.allCases)
    func fullWindows(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("w", .object([JSONMember("b", .integer(1)), JSONMember("c", .integer(2))]))
        let client = try world.client()
        let place = client.database.reference(withPath: "w")
        client.observe(place.queryOrderedByKey().queryLimited(toFirst: 1), [.value])
        #expect(world.read(client) == [#"value {"b":1}"#])
        place.child("bb").setValue(5)
        place.child("b").removeValue()
        // Incomplete at first, since the server may have a child before "bb".
        #expect(world.read(client) == [#"value {"bb":5}"#, #"value {"bb":5}"#])
        client.database.goOffline()
        world.drain()
        place.child("ba").setValue(3)
        place.child("bc").setValue(4)
        place.child("ba").removeValue()
        place.child("bb").removeValue()
        _ = world.read(client)
        client.database.goOnline()
        #expect(!world.read(client).contains("value null"))
        #expect(world.data(at: "w") == #"{"bc":4,"c":2}"#)
    }

    @Test(
        "A child that another client pushed out of the window leaves when no write is pending",
        arguments: TestStorage.allCases)
    func pushedOut(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        try world.put("w", .object([JSONMember("b", .integer(1)), JSONMember("c", .integer(2))]))
        let client = try world.client()
        let place = client.database.reference(withPath: "w")
        client.observe(place.queryOrderedByKey().queryLimited(toFirst: 1), [.value])
        _ = world.read(client)
        place.child("bb").setValue(5)
        client.drainEngine()
        try world.put("w/bb", .null)
        place.child("b").removeValue()
        let lines = world.read(client)
        #expect(lines.last == #"value {"c":2}"#, "\(lines)")
    }
}
