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
