import LarderCore
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderSync
import LarderTestSupport
import Synchronization
import Testing

@Suite("Cancelling pending writes")
struct CancellingTests {
    /// What writers and callers were told, in order.
    private final class Events: Sendable {
        private let list = Mutex<[String]>([])

        var all: [String] { list.withLock { $0 } }

        func add(_ event: String) { list.withLock { $0.append(event) } }
    }

    private func value(_ client: SharingClient) throws -> Value? {
        client["all"].documents[try DocumentPath("c/x")]?.record?.fields["n"]
    }

    /// A client without a connection that has incremented a field by 1, 2, 4 and so on.
    private func open(
        _ world: SharingWorld, writing count: Int, _ events: Events = Events()
    ) throws -> (client: SharingClient, ids: [Int64]) {
        let a = try world.open("a")
        a.client.disableNetwork { _ in }
        a.listen("all", try .all("c"))
        let ids = Mutex<[Int64]>([])
        for number in 0..<count {
            let step = Value.integer(1 << (number % 16))
            a.client.write(
                [try .increment("c/x", "n", by: step)],
                committed: { result in
                    if case .success(let id) = result { ids.withLock { $0.append(id) } }
                },
                acknowledged: { result in
                    if case .failure(let error) = result, error.kind == .cancelled {
                        events.add("\(number) ended")
                    }
                })
        }
        world.settle()
        return (a, ids.withLock { $0 })
    }

    @Test("requests that wait together share a snapshot, and each is answered once, in order")
    func group() throws {
        let directory = try TemporaryDirectory()
        let events = Events()
        let world = try SharingWorld(StoreConfiguration(directory: directory.path))
        let (a, ids) = try open(world, writing: 5, events)
        #expect(try value(a) == 31)
        let snapshotCount = a["all"].count
        for (number, id) in [ids[3], ids[1], ids[1], 999, ids[4]].enumerated() {
            a.client.cancelWrite(id) { result in
                events.add("request \(number): \((try? result.get())?.description ?? "error")")
            }
        }
        a.client.waitForPendingWrites { _ in events.add("nothing is pending") }
        world.settle()
        #expect(
            events.all == [
                "3 ended", "1 ended", "4 ended", "request 0: true", "request 1: true",
                "request 2: false", "request 3: false", "request 4: true",
            ])
        #expect(a["all"].count == snapshotCount + 1)
        #expect(try value(a) == 5)
        #expect(try a.client.pendingWrites().map(\.id) == [ids[0], ids[2]])

        try world.reopenStore {}
        let b = try world.open("b")
        b.listen("all", try .all("c"))
        world.settle()
        #expect(try value(b) == 5)
        #expect(try b.client.pendingWrites().isEmpty)
    }

    @Test("a request follows the writes before it and precedes those after it")
    func order() throws {
        let world = try SharingWorld()
        let events = Events()
        let (a, ids) = try open(world, writing: 2, events)
        let seen = Mutex<[Int]>([])
        let registration = a.client.observePendingWrites { result in
            seen.withLock { $0.append((try? result.get())?.count ?? -1) }
        }
        world.settle()
        // The id of the next write is known, since ids are consecutive.
        let later = a.write([try .increment("c/x", "n", by: 64)])
        a.client.cancelWrite(ids[1] + 1) { result in
            events.add("cancelled: \((try? result.get()) == true)")
        }
        a.client.cancelWrite(ids[1] + 2) { result in
            events.add("cancelled: \((try? result.get()) == true)")
        }
        let last = a.write([try .increment("c/x", "n", by: 128)])
        world.settle()
        #expect(later.failure?.kind == .cancelled && last.failure == nil)
        #expect(events.all == ["cancelled: true", "cancelled: false"])
        #expect(seen.withLock { $0 } == [2, 3])
        #expect(try value(a) == 131)
        registration.remove()
    }

    #if DEBUG
        @Test(
            "cancelling writes of one document applies each a few times",
            arguments: [200, 400, 800])
        func cost(_ count: Int) throws {
            for isReversed in [false, true] {
                let world = try SharingWorld()
                let (a, ids) = try open(world, writing: count)
                let answered = Mutex(0)
                let cancelled = isReversed ? Array(ids.dropFirst().reversed()) : ids.dropLast()
                for id in cancelled {
                    a.client.cancelWrite(id) { result in
                        if (try? result.get()) == true { answered.withLock { $0 += 1 } }
                    }
                }
                let steps = StepCount()
                StepCount.$current.withValue(steps) { world.settle() }
                #expect(answered.withLock { $0 } == count - 1)
                #expect((1...2 * count).contains(steps.count))
                let left = isReversed ? 0 : count - 1
                #expect(try value(a) == .integer(1 << (left % 16)))
            }
        }
    #endif
}
