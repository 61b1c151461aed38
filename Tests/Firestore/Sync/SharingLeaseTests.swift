import LarderSync
import Testing

@Suite("Who has the network of a store that clients share")
struct SharingLeaseTests {
    private let now = Duration.seconds(1_000)

    private func client(
        _ id: String, _ network: Bool, _ foreground: Bool, age: Duration = .zero
    ) -> ClientRow {
        ClientRow(id: id, time: now - age, usesNetwork: network, isForeground: foreground)
    }

    private func mayHave(
        _ own: ClientRow, _ lease: Lease? = nil, _ others: [ClientRow] = []
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

    @Test("A client alone may have it, whatever it is like")
    func alone() {
        for network in [true, false] {
            for foreground in [true, false] {
                #expect(mayHave(client("a", network, foreground)))
            }
        }
    }

    @Test("As long as the lease of another holds, nobody else may have it")
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

    @Test("A client that was not heard of lately keeps nobody from it")
    func sleepers() {
        let own = client("a", true, false)
        #expect(!mayHave(own, nil, [client("b", true, true, age: .seconds(5))]))
        #expect(mayHave(own, nil, [client("b", true, true, age: .seconds(6))]))
    }
}
