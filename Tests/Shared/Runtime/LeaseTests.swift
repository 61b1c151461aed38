import LarderRuntime
import LarderSharedTestSupport
import Testing

@Suite("The lease of the network of a shared store")
struct LeaseTests {
    private let now = Duration.seconds(1_000)

    private func client(
        _ id: String, _ network: Bool, _ foreground: Bool, age: Duration = .zero
    ) -> ClientRow<Int32> {
        ClientRow(id: id, time: now - age, usesNetwork: network, isForeground: foreground)
    }

    private func mayHave(
        _ own: ClientRow<Int32>, _ lease: Lease? = nil, _ others: [ClientRow<Int32>] = []
    ) -> Bool {
        Lease.mayBelong(to: own, lease: lease, others: others, at: now)
    }

    @Test("A lease lasts five seconds, and one of a time to come is from before the machine began")
    func validity() {
        #expect(Lease(owner: "a", time: now).isValid(at: now))
        #expect(Lease(owner: "a", time: now - .seconds(5)).isValid(at: now))
        #expect(!Lease(owner: "a", time: now - .milliseconds(5_001)).isValid(at: now))
        #expect(!Lease(owner: "a", time: now + .nanoseconds(1)).isValid(at: now))
    }

    @Test("A client without competitors may take the lease, in any state")
    func alone() {
        for network in [true, false] {
            for foreground in [true, false] {
                #expect(mayHave(client("a", network, foreground)))
            }
        }
    }

    @Test("While another client's lease is valid, no client may take it")
    func validLease() {
        let best = client("a", true, true)
        #expect(!mayHave(best, Lease(owner: "b", time: now - .seconds(5))))
        #expect(mayHave(best, Lease(owner: "b", time: now - .seconds(6))))
    }

    @Test("Its owner keeps it while it may use the network, even if another is looked at")
    func owner() {
        let lease = Lease(owner: "a", time: now)
        let rival = client("b", true, true)
        #expect(mayHave(client("a", true, false), lease, [rival]))
        #expect(!mayHave(client("a", false, false), lease, [rival]))
        #expect(mayHave(client("a", false, false), lease, [client("b", false, false)]))
    }

    @Test("The network counts before being looked at; equals do not wait for each other")
    func candidates() {
        let cases: [(own: (Bool, Bool), other: (Bool, Bool), Bool)] = [
            ((true, true), (true, true), true),
            ((true, false), (true, true), false),
            ((true, false), (true, false), true),
            ((true, false), (false, true), true),
            ((false, true), (true, false), false),
            ((false, true), (false, true), true),
            ((false, false), (false, true), false),
            ((false, false), (false, false), true),
        ]
        for (own, other, expected) in cases {
            let may = mayHave(client("a", own.0, own.1), nil, [client("b", other.0, other.1)])
            #expect(may == expected, "\(own) beside \(other)")
        }
    }

    @Test("A client that has not reported recently does not prevent others from taking the lease")
    func sleepers() {
        let own = client("a", true, false)
        #expect(!mayHave(own, nil, [client("b", true, true, age: .seconds(5))]))
        #expect(mayHave(own, nil, [client("b", true, true, age: .seconds(6))]))
    }
}

@Suite("The targets of other clients")
struct TargetRegistryTests {
    @Test("A target stays registered until the last client has ended it")
    func equalsModel() {
        var random = SeededRandom()
        var registry = TargetRegistry<Int32>()
        var model: [String: Set<Int32>] = [:]
        for _ in 0..<5_000 {
            let client = random.pick(["a", "b", "c"])
            let ids = Set((0..<random.below(4)).map { _ in Int32(random.below(8)) })
            switch random.below(4) {
            case 0, 1:
                registry.begin(ids, of: client)
                model[client, default: []].formUnion(ids)
            case 2:
                registry.end(ids, of: client)
                model[client, default: []].subtract(ids)
            default:
                let id = Int32(random.below(8))
                registry.forget(id)
                for client in model.keys { model[client]?.remove(id) }
            }
            let all = model.values.reduce(into: Set()) { $0.formUnion($1) }
            #expect(registry.all == all, "\(random)")
            #expect((0..<8).allSatisfy { registry.contains($0) == all.contains($0) })
            #expect(registry.targets(of: client) == model[client] ?? [], "\(random)")
        }
    }

    @Test("It is initialised from the rows of clients")
    func rows() {
        let registry = TargetRegistry<Int32>([
            ClientRow(id: "a", time: .zero, targets: [2, 4]),
            ClientRow(id: "b", time: .zero, targets: [4]),
        ])
        #expect(registry.all == [2, 4])
        #expect(registry.targets(of: "b") == [4])
    }
}
