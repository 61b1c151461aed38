import Foundation
import LarderRealtime
import LarderSharedTestSupport
import Testing

@Suite("Any input")
struct AnyInputTests {
    private struct Odd: Codable {
        var date = Date.distantFuture
        var number = Double.infinity
    }

    private static let texts = [
        "", "/", "//", "a", "a/b", ".priority", ".info", ".info/connected", ".value", ".sv", "a.b",
        "a#", "[MIN_NAME]", "[MAX_NAME]", "\u{0}", "\u{FFFF}", "😀", "-2147483648", "99999999999",
        String(repeating: "k", count: 800), String(repeating: "a/", count: 60), "$key", "%41%",
    ]

    private func value(_ random: inout SeededRandom, depth: Int = 0) -> Any? {
        let leaves: [Any?] = [
            nil, NSNull(), 1, -0.0, Double.nan, Double.infinity, Int.min, UInt64.max, true, "text",
            Date(), Data([1]), URL(fileURLWithPath: "/"), Decimal(1), NSNumber(value: 1),
            ServerValue.timestamp(), ServerValue.increment(1), [".sv": "unknown"], [".value": 1],
            [".priority": 1], [".value": [1], ".priority": true], [1: 2], Optional<Int>.none as Any,
            Odd(), { 1 } as () -> Int, String(repeating: "x", count: 5_000),
        ]
        if depth > 3 || random.oneIn(2) { return random.pick(leaves) }
        if random.oneIn(2) {
            return (0..<random.below(4)).map { _ in value(&random, depth: depth + 1) as Any }
        }
        var members: [AnyHashable: Any] = [:]
        for _ in 0..<random.below(4) {
            let key: AnyHashable = random.oneIn(8) ? AnyHashable(1) : random.pick(Self.texts)
            members[key] = value(&random, depth: depth + 1) as Any
        }
        return members
    }

    private func query(_ place: DatabaseReference, _ random: inout SeededRandom) -> DatabaseQuery {
        var query: DatabaseQuery = place
        for _ in 0..<random.below(4) {
            let (value, key) = (value(&random), random.oneIn(2) ? random.pick(Self.texts) : nil)
            switch random.below(11) {
            case 0: query = query.queryOrderedByKey()
            case 1: query = query.queryOrderedByValue()
            case 2: query = query.queryOrdered(byChild: random.pick(Self.texts))
            case 3: query = query.queryLimited(toFirst: random.pick([0, 1, 3, .max]))
            case 4: query = query.queryLimited(toLast: random.pick([0, 1, 3, .max]))
            case 5: query = query.queryStarting(atValue: value, childKey: key)
            case 6: query = query.queryStarting(afterValue: value, childKey: key)
            case 7: query = query.queryEnding(atValue: value, childKey: key)
            case 8: query = query.queryEnding(beforeValue: value, childKey: key)
            case 9: query = query.queryEqual(toValue: value, childKey: key)
            default: query = query.queryOrderedByPriority()
            }
        }
        return query
    }

    private func use(
        _ place: DatabaseReference, _ test: DatabaseUnderTest, _ random: inout SeededRandom
    ) {
        let value = value(&random)
        switch random.below(13) {
        case 0: place.setValue(value, andPriority: self.value(&random))
        case 1: place.setValue(value)
        case 2: place.setPriority(value)
        case 3: place.updateChildValues(value as? [AnyHashable: Any] ?? [:])
        case 4: place.onDisconnectSetValue(value)
        case 5: place.onDisconnectUpdateChildValues(value as? [AnyHashable: Any] ?? [:])
        case 6: try? place.setValue(from: Odd())
        case 7:
            let path = random.pick(Self.texts)
            place.runTransactionBlock { data in
                data.value = value
                data.priority = value
                data.childData(byAppendingPath: path).value = value
                return .success(withValue: data)
            }
        case 8:
            let path = random.pick(Self.texts)
            query(place, &random).observe(.value) { snapshot in
                _ = (snapshot.value, snapshot.valueInExportFormat(), snapshot.priority)
                _ = (snapshot.hasChild(path), snapshot.childSnapshot(forPath: path).value)
                _ = (snapshot.children.allObjects.count, "\(snapshot)", snapshot.ref.url)
                _ = try? snapshot.data(as: Odd.self)
            }
        case 9: query(place, &random).observeSingleEvent(of: .childAdded) { _, _ in }
        case 10: query(place, &random).getData { _, _ in }
        case 11: query(place, &random).keepSynced(random.oneIn(2))
        default:
            place.removeObserver(withHandle: UInt.random(in: 0 ... .max, using: &random))
            place.removeAllObservers()
            place.cancelDisconnectOperations()
        }
    }

    @Test("No value, path or order of calls traps", arguments: 0..<4)
    func anything(_ round: Int) throws {
        var random = SeededRandom(seed: SeededRandom().seed &+ UInt64(round))
        let world = DatabaseWorld(.cacheInMemory)
        let client = try world.client()
        for _ in 0..<250 {
            let root = client.database.reference()
            let place = root.child(random.pick(Self.texts)).child(random.pick(Self.texts))
            use(random.oneIn(10) ? root : place, client, &random)
            _ = (place.url, place.key, place.parent?.url, "\(place)", place.childByAutoId().key)
            if random.oneIn(4) { world.drain() }
        }
        world.advance(by: .seconds(60))
        client.database.reference(withPath: "end").setValue(
            1, withCompletionBlock: client.completion("end"))
        #expect(world.read(client).contains("end done"), "\(random)")
    }
}
