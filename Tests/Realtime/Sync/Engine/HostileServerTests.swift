import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import LarderStorage
import Testing

@Suite("A server that says anything")
struct HostileServerTests {
    private static let keys = [
        "a", "b", "1", "01", "-0", ".priority", ".value", ".sv", ".info", "[MAX_NAME]",
        "[MIN_NAME]",
        "", "\u{0}", "ü😀", String(repeating: "k", count: 3_000),
    ]

    private func path(_ random: inout SeededRandom) -> TreePath {
        let depth = random.oneIn(20) ? 150 : random.below(4)
        return TreePath((0..<depth).map { _ in ChildKey(random.pick(Self.keys)) })
    }

    private func node(_ random: inout SeededRandom, depth: Int = 0) -> Node {
        switch random.below(depth > 3 ? 5 : 8) {
        case 0: return .empty
        case 1: return Node(.integer(Int64.random(in: .min ... .max, using: &random)))
        case 2: return Node(.string("text"), priority: .string("p"))
        case 3: return Node(.deferred(.timestamp))
        case 4: return Node(.boolean(true), priority: .deferred(.increment(LeafNumber(1))))
        default:
            return Node(
                children: (0..<random.below(4)).map { _ in
                    Child(ChildKey(random.pick(Self.keys)), node(&random, depth: depth + 1))
                }, priority: random.oneIn(3) ? .number(LeafNumber(1)) : .none)
        }
    }

    private func push(_ random: inout SeededRandom) -> RealtimePush {
        let tag = random.oneIn(3) ? random.below(6) - 1 : nil
        let path = path(&random)
        switch random.below(7) {
        case 0, 1: return .overwrite(path, node(&random), tag: tag)
        case 2, 3:
            let values = (0..<random.below(3)).map { _ in
                PathValue(self.path(&random), node(&random))
            }
            return .merge(path, values, tag: tag)
        case 4:
            let start = random.oneIn(2) ? self.path(&random) : nil
            let end = random.oneIn(2) ? self.path(&random) : nil
            return .rangeMerge(
                path, [RangeMerge(after: start, through: end, node(&random))], tag: tag)
        case 5: return .listenRevoked(path, random.oneIn(2) ? nil : .default)
        default: return .securityDebug("rules")
        }
    }

    @Test("No message traps, wedges the engine or spoils its store", arguments: 0..<8)
    func anything(_ round: Int) throws {
        var random = SeededRandom(seed: SeededRandom().seed &+ UInt64(round))
        let directory = try TemporaryDirectory()
        var storage = StoreConfiguration(directory: directory.file("store"))
        storage.mapBytes = StoreConfiguration.modestMapBytes
        let engine = try EngineUnderTest(storage)
        try engine.connect()
        for step in 0..<300 {
            switch random.below(10) {
            case 0: engine.listen(QuerySpec(path(&random)))
            case 1:
                let parameters = try QueryBuilder().ordered(by: .value).limited(toLast: 2)
                    .parameters
                engine.listen(QuerySpec(path(&random), parameters))
            case 2:
                engine.client.write(
                    .overwrite(TreePath("a/\(step)"), Node(.integer(1))), committed: { _ in },
                    acknowledged: { _ in })
            case 3:
                engine.client.runTransaction(
                    at: path(&random), localEvents: true,
                    { $0.settingChild(ChildKey("t"), to: $0) },
                    completion: { _ in })
            case 4: engine.client.get(QuerySpec(path(&random))) { _ in }
            case 5, 6: try engine.connection.push(push(&random))
            case 7, 8:
                let status = ["ok", "datastale", "permission_denied", "wat"].randomElement(
                    using: &random)
                try engine.connection.answer(
                    random.below(60), ResponseStatus(rawValue: status ?? "ok"),
                    payload: random.oneIn(2) ? .node(node(&random)) : .none)
            default:
                try engine.connection.raise(
                    random.oneIn(2) ? .closed(nil) : .reset(host: "elsewhere"))
            }
            engine.scheduler.drain()
            if random.oneIn(5) {
                engine.advance(by: .seconds(40))
                try engine.connect(session: "s\(step)")
            }
        }
        engine.write(.overwrite(TreePath("last"), Node(.integer(1))), as: "last")
        let refusals = engine.warnings.withLock { $0.filter { $0.contains("refuses") } }
        #expect(refusals.isEmpty, "\(random)")
        #expect(engine.read().contains("last made"), "\(random)")
        engine.client.terminate { _ in }
        engine.scheduler.drain()
        let again = try EngineUnderTest(storage, isLocal: true)
        again.get(QuerySpec(TreePath("last")))
        #expect(again.read() == ["get: 1 from cache"], "\(random)")
        again.client.terminate { _ in }
        again.scheduler.drain()
        #expect(try Store(storage).check().isClean, "\(random)")
    }
}
