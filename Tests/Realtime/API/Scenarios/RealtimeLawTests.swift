import Foundation
import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderSharedTestSupport
import Testing

@testable import LarderRealtime

@Suite("Promises under random traffic")
struct RealtimeLawTests {
    /// The children of a query according to its events, and the contradictions to its values.
    private final class Mirror {
        private var children: [String: String] = [:]
        /// The order of the last value; nil before the first.
        private var order: [String]?
        /// Additions and moves since the last value, with the key of the previous sibling.
        private var placed: [String: String?] = [:]
        var problems: [String] = []

        func apply(_ type: DataEventType, _ snapshot: DataSnapshot, after previous: String?) {
            let (key, data) = (snapshot.key, snapshot.json)
            switch type {
            case .childAdded:
                if children[key] != nil { problems.append("\(key) was added twice") }
                children[key] = data
                placed[key] = .some(previous)
            case .childRemoved:
                if children.removeValue(forKey: key) != data {
                    problems.append("\(key) was removed as something else")
                }
                placed[key] = nil
            case .childMoved:
                if children[key] == nil { problems.append("\(key) moved without being there") }
                placed[key] = .some(previous)
            case .childChanged:
                if children[key] == nil { problems.append("\(key) changed without being there") }
                children[key] = data
            case .value:
                compare(snapshot.childSnapshots.map { ($0.key, $0.json) })
            }
        }

        /// Compares with a value.
        ///
        /// Additions come before moves, so that a previous sibling may be one that moves later:
        /// positions are those after the last event of a change.
        private func compare(_ values: [(key: String, data: String)]) {
            let keys = values.map(\.key)
            if children != Dictionary(uniqueKeysWithValues: values) {
                problems.append("the events made \(children.keys.sorted()), the value has \(keys)")
            }
            if let order {
                let previous = Dictionary(uniqueKeysWithValues: zip(keys.dropFirst(), keys))
                for (key, sibling) in placed where previous[key] != sibling {
                    problems.append("\(key) is after \(sibling ?? "none") and not so in \(keys)")
                }
                if order.filter({ placed[$0] == nil && children[$0] != nil })
                    != keys.filter({ placed[$0] == nil })
                {
                    problems.append("\(order) became \(keys) without moves")
                }
            }
            order = keys
            placed = [:]
        }
    }

    private static let keys = ["a", "b", "c", "1", "2", "10"]

    private func path(_ random: inout SeededRandom) -> String {
        (0..<random.below(3)).map { _ in random.pick(Self.keys) }.joined(separator: "/")
    }

    private func value(_ random: inout SeededRandom, depth: Int = 0) -> Any? {
        switch random.below(depth > 1 ? 5 : 7) {
        case 0: return nil
        case 1: return random.below(10)
        case 2: return Double(random.below(100)) / 4
        case 3: return "text \(random.below(5))"
        case 4: return random.oneIn(2)
        default:
            var members: [String: Any] = [:]
            for _ in 0..<random.below(4) {
                members[random.pick(Self.keys)] = value(&random, depth: depth + 1) ?? NSNull()
            }
            if random.oneIn(4) { members[".priority"] = random.below(3) }
            return members
        }
    }

    private func query(_ place: DatabaseReference, _ random: inout SeededRandom) -> DatabaseQuery {
        let ordered: DatabaseQuery =
            switch random.below(5) {
            case 0: place.queryOrderedByKey()
            case 1: place.queryOrderedByValue()
            case 2: place.queryOrdered(byChild: random.pick(Self.keys))
            default: place
            }
        switch random.below(4) {
        case 0: return ordered.queryLimited(toFirst: UInt(1 + random.below(3)))
        case 1: return ordered.queryLimited(toLast: UInt(1 + random.below(3)))
        default: return ordered
        }
    }

    private func mirror(_ query: DatabaseQuery) -> Mirror {
        let mirror = Mirror()
        for type in [
            DataEventType.childRemoved, .childAdded, .childMoved, .childChanged, .value,
        ] {
            query.observe(
                type,
                andPreviousSiblingKeyWith: { snapshot, previous in
                    mirror.apply(type, snapshot, after: previous)
                })
        }
        return mirror
    }

    /// One random step of a client.
    private func step(
        _ client: DatabaseUnderTest, _ mirrors: inout [Mirror], _ random: inout SeededRandom
    ) {
        let root = client.database.reference()
        let place = root.child(path(&random))
        switch random.below(16) {
        case 0..<5: place.setValue(value(&random))
        case 5, 6:
            place.updateChildValues([
                random.pick(Self.keys): value(&random) ?? NSNull(),
                "x/" + random.pick(Self.keys): value(&random) ?? NSNull(),
            ])
        case 7: place.child("n").setValue(ServerValue.increment(1))
        case 8:
            place.runTransactionBlock { data in
                data.childData(byAppendingPath: "t").value = 1
                return .success(withValue: data)
            }
        case 9: place.onDisconnectSetValue(value(&random))
        case 10: place.cancelDisconnectOperations()
        case 11: mirrors.append(mirror(query(place, &random)))
        case 12: query(place, &random).keepSynced(random.oneIn(2))
        case 13: place.getData { _, _ in }
        case 14: client.database.goOffline()
        default: client.database.goOnline()
        }
    }

    @Test("Events agree with values, and all clients with the backend in the end", arguments: 0..<6)
    func convergence(_ round: Int) throws {
        var random = SeededRandom(seed: SeededRandom().seed &+ UInt64(round))
        let world = DatabaseWorld(.disk)
        var mirrors: [Mirror] = []
        var names = ["one", "two", "three"]
        for name in names { _ = try world.client(named: name) }
        for _ in 0..<400 {
            let client = random.pick(world.clients)
            step(client, &mirrors, &random)
            if random.oneIn(2) { world.drain() }
            if random.oneIn(20) { world.dropConnections() }
            if random.oneIn(10) { world.advance(by: .seconds(1 + random.below(40))) }
            if random.oneIn(25) {
                let client = world.clients[0]
                world.close(client)
                let name = names.removeFirst()
                names.append(name)
                _ = try world.client(named: name)
            }
        }
        for client in world.clients { client.database.goOnline() }
        for _ in 0..<10 { world.advance(by: .seconds(60)) }
        for client in world.clients {
            client.database.purgeOutstandingWrites()
        }
        for _ in 0..<3 { world.advance(by: .seconds(60)) }
        let expected = world.data(at: "")
        for client in world.clients {
            var seen: String?
            client.database.reference().observe(.value) { snapshot in
                let node = try? Node(exported: JSONValue(userValue: snapshot.valueInExportFormat()))
                seen = node.map { json(of: $0) }
            }
            world.drain()
            #expect(seen == expected, "\(random)")
        }
        for mirror in mirrors { #expect(mirror.problems.isEmpty, "\(random)") }
    }

    private func json(of node: Node) -> String {
        var bytes: [UInt8] = []
        JSONWriter.append(node.exportedJSON, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A write is on disk when it is locally committed")
    func durability() async throws {
        let directory = try TemporaryDirectory()
        let database = try Database(
            configuration: DatabaseConfiguration(directory: directory.file("store")))
        try await withDeadline(.seconds(60)) {
            for number in 0..<5 {
                let place = database.reference(withPath: "a/\(number)")
                try await place.enqueueSetValue(number).committedLocally()
                // What a power cut at this moment leaves.
                let copy = directory.file("copy \(number)")
                try FileManager.default.copyItem(
                    atPath: directory.file("store"), toPath: copy)
                let other = try Database(configuration: DatabaseConfiguration(directory: copy))
                let pending = try await other.pendingWrites()
                #expect(pending.count == number + 1)
                try await other.close()
            }
        }
        try await database.close()
    }

    @Test("Writes of many threads are committed in the order of each thread")
    func threads() async throws {
        let database = try Database(configuration: .inMemory)
        try await withDeadline(.seconds(60)) {
            await withTaskGroup { group in
                for thread in 0..<8 {
                    group.addTask {
                        let place = database.reference(withPath: "t/\(thread)")
                        var ids: [Int64] = []
                        for number in 0..<100 {
                            let write = place.enqueueSetValue(number)
                            if number % 10 == 0, let id = try? await write.committedLocally() {
                                ids.append(id)
                            }
                        }
                        _ = try? await place.enqueueSetValue("end").committedLocally()
                        #expect(ids == ids.sorted())
                    }
                }
            }
            let value = await database.reference(withPath: "t/3").observeSingleEvent(of: .value)
            #expect(value.value as? String == "end")
            let pending = try await database.pendingWrites()
            #expect(pending.count == 8 * 101)
        }
        try await database.close()
    }
}
