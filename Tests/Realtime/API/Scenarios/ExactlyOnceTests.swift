import Foundation
import LarderCore
import LarderRealtime
import LarderRealtimeBackend
import Testing

@Suite("Writes whose answers are lost")
struct ExactlyOnceTests {
    /// Cuts all connections between the commits of requests and their answers.
    private func cut(_ world: DatabaseWorld, _ requests: () -> Void) {
        world.backend.holdResponses(true)
        requests()
        world.drain()
        world.dropConnections()
        world.backend.holdResponses(false)
    }

    @Test("Increments count once, however often they are sent", arguments: TestStorage.allCases)
    func increments(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let place = client.database.reference(withPath: "p")
        place.setValue(0)
        world.drain()
        for round in 1...5 {
            cut(world) {
                for number in 0..<4 {
                    place.setValue(
                        ServerValue.increment(1),
                        withCompletionBlock: client.completion("\(round) \(number)"))
                    place.updateChildValues([:])
                }
            }
            #expect(world.data(at: "p") == "\(4 * round)")
            // The answers to the second sending are lost as well.
            cut(world) { world.advance(by: .seconds(40)) }
            world.advance(by: .seconds(40))
            #expect(world.read(client) == (0..<4).map { "\(round) \($0) done" })
            #expect(world.data(at: "p") == "\(4 * round)")
        }
    }

    @Test(
        "Increments by transactions count once, and each learns its answer once",
        arguments: TestStorage.allCases)
    func transactions(_ storage: TestStorage) throws {
        let world = DatabaseWorld(storage)
        let client = try world.client()
        let places = ["p", "q", "r/s"]
        func increment(_ place: String, _ name: String) {
            client.database.reference(withPath: place).runTransactionBlock(
                { data in
                    data.value = (data.value as? Int ?? 0) + 1
                    return .success(withValue: data)
                },
                andCompletionBlock: { error, isCommitted, snapshot in
                    client.note("\(name) \(error == nil) \(isCommitted) \(snapshot?.json ?? "-")")
                })
        }
        for place in places {
            client.database.reference(withPath: place).observe(.value) { _ in }
        }
        world.drain()
        for round in 1...5 {
            cut(world) {
                for (number, place) in places.enumerated() {
                    increment(place, "\(round) \(number)")
                    client.database.reference(withPath: "w/\(number)").setValue(round)
                }
            }
            #expect(places.map { world.data(at: $0) } == Array(repeating: "\(round)", count: 3))
            // Data that has changed since, and answers to the second sending that are lost as well.
            try world.put("q", .integer(100))
            cut(world) { world.advance(by: .seconds(40)) }
            #expect(world.read(client) == [])
            world.advance(by: .seconds(40))
            #expect(world.read(client) == (0..<3).map { "\(round) \($0) true true \(round)" })
            #expect(places.map { world.data(at: $0) } == ["\(round)", "100", "\(round)"])
            try world.put("q", .integer(Int64(round)))
        }
    }

    @Test("A transaction that was not made is made, or run again, on the next connection")
    func unmade() throws {
        for isStale in [false, true] {
            let world = DatabaseWorld(.disk)
            let client = try world.client()
            let place = client.database.reference(withPath: "p")
            place.observe(.value) { _ in }
            world.drain()
            // Its refusal is lost.
            world.backend.setRules { $0.operation == .write ? .deny : .allow }
            cut(world) {
                place.runTransactionBlock(
                    { data in
                        data.value = (data.value as? Int ?? 0) + 1
                        return .success(withValue: data)
                    },
                    andCompletionBlock: { _, isCommitted, snapshot in
                        client.note("\(isCommitted) \(snapshot?.json ?? "-")")
                    })
            }
            #expect(world.data(at: "p") == "null")
            world.backend.setRules { _ in .allow }
            if isStale { try world.put("p", .integer(41)) }
            world.advance(by: .seconds(40))
            #expect(world.read(client) == [isStale ? "true 42" : "true 1"])
            #expect(world.data(at: "p") == (isStale ? "42" : "1"))
        }
    }

    @Test("They count once after a restart of the client")
    func restart() throws {
        let world = DatabaseWorld(.disk)
        let client = try world.client(named: "phone")
        let place = client.database.reference(withPath: "p")
        cut(world) {
            place.setValue(ServerValue.increment(1))
            place.child("lost").setValue(true)
        }
        world.close(client)
        try world.put("p", .integer(7))
        let again = try world.client(named: "phone")
        again.database.reference(withPath: "p").setValue(ServerValue.increment(1))
        world.drain()
        #expect(world.data(at: "p") == "8")
        world.close(again)
        _ = try world.client(named: "phone")
        world.drain()
        #expect(world.data(at: "p") == "8")
    }
}
