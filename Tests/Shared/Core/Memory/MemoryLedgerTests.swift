import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("Memory ledger")
struct MemoryLedgerTests {
    /// Accounts whose reliefs are noted, and end when the test says so.
    private final class Reliefs: Sendable {
        let waiting = Box<[(name: String, completion: @Sendable () -> Void)]>([])

        func open(_ name: String, _ ledger: MemoryLedger) -> MemoryAccount {
            ledger.open { completion in
                self.waiting.withLock { $0.append((name, completion)) }
            }
        }

        var names: [String] { waiting.withLock { $0.map(\.name) } }

        func finish() {
            let first = waiting.withLock { $0.removeFirst() }
            first.completion()
        }
    }

    @Test("The total is the sum of open accounts, those below included")
    func sums() {
        let ledger = MemoryLedger(limit: 1_000)
        let reliefs = Reliefs()
        let connection = reliefs.open("a", ledger)
        let (first, second) = (connection.open(), connection.open())
        connection.change(by: 5)
        first.change(by: 20)
        second.change(by: 300)
        #expect(ledger.heldBytes == 325 && connection.heldBytes == 325 && first.heldBytes == 20)
        second.change(by: -100)
        #expect(ledger.heldBytes == 225)
        second.close()
        second.close()
        second.change(by: 7)
        #expect(ledger.heldBytes == 25 && second.heldBytes == 0)
        connection.close()
        first.change(by: 9)
        #expect(ledger.heldBytes == 0 && reliefs.names.isEmpty)
    }

    @Test("Who takes nothing goes first, who is being answered last, by what they hold and keep")
    func order() {
        let time = Box(Duration.zero)
        let ledger = MemoryLedger(limit: 1_000) { time.withLock { $0 } }
        let reliefs = Reliefs()
        let names = ["answered", "idle", "stalled", "stalled longer", "momentarily"]
        let accounts = names.map { reliefs.open($0, ledger) }
        defer { for account in accounts { account.close() } }
        accounts[0].changeAnswers(by: 1)
        for (account, bytes) in zip(accounts, [600, 200, 5, 10, 100]) { account.change(by: bytes) }
        // What is shared is charged once, and is kept by two.
        let call = accounts[2].open()
        let shared = call.share(50)
        call.changeKept(by: 50)
        accounts[3].changeKept(by: 20)
        accounts[2].setStalled(true)
        accounts[3].setStalled(true)
        time.withLock { $0 = .seconds(2) }
        accounts[4].setStalled(true)
        #expect(ledger.heldBytes == 965)
        accounts[1].change(by: 300)
        let order = ["stalled", "stalled longer", "idle", "momentarily", "answered"]
        for (index, name) in order.enumerated() {
            #expect(reliefs.names == [name])
            if name == "stalled" { call.close() }
            accounts[names.firstIndex(of: name) ?? 0].close()
            // Still above the limit.
            if index < 4 { accounts[0].change(by: 400) }
            reliefs.finish()
        }
        #expect(ledger.heldBytes == 50)
        withExtendedLifetime(shared) {}
    }

    @Test("What was made last is shared, and released when memory is needed")
    func lastMade() {
        let ledger = MemoryLedger(limit: 1_000)
        let reliefs = Reliefs()
        let account = reliefs.open("a", ledger)
        defer { account.close() }
        let last = LastMade<Int, SharedBytes> { $0 == $1 }
        func value(_ key: Int) -> SharedBytes? {
            last.value(of: key, for: account, size: \.count) {
                let bytes = SharedBytes([UInt8](repeating: 1, count: 600))
                bytes.charge(by: account)
                return bytes
            }
        }
        #expect(value(1) === value(1) && ledger.heldBytes == 600)
        #expect(value(2) != nil && ledger.heldBytes == 600)
        account.change(by: 700)
        #expect(ledger.heldBytes == 700 && reliefs.names.isEmpty)
        account.change(by: -300)
        #expect(value(2) != nil && ledger.heldBytes == 1_000)
    }

    @Test("At the limit the largest account is relieved, one at a time, until the total is within")
    func relief() {
        let ledger = MemoryLedger(limit: 100)
        let reliefs = Reliefs()
        let accounts = ["a", "b", "c"].map { reliefs.open($0, ledger) }
        defer { for account in accounts { account.close() } }
        accounts[0].change(by: 30)
        accounts[1].change(by: 70)
        #expect(reliefs.names.isEmpty)
        // Whoever exceeds the limit, the largest is relieved.
        accounts[2].change(by: 60)
        accounts[2].change(by: 1)
        #expect(reliefs.names == ["b"] && ledger.reliefCount == 1)
        accounts[1].change(by: -40)
        reliefs.finish()
        #expect(reliefs.names == ["c"])
        accounts[2].change(by: -61)
        reliefs.finish()
        #expect(reliefs.names.isEmpty && ledger.heldBytes == 60 && ledger.reliefCount == 2)
    }

    @Test("Changes of many threads add up, also while accounts are closed")
    func threads() async {
        let ledger = MemoryLedger(limit: .max)
        let reliefs = Reliefs()
        let connection = reliefs.open("a", ledger)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let call = connection.open()
                group.addTask {
                    for _ in 0..<50 {
                        call.change(by: number)
                        call.change(by: -number / 2)
                    }
                }
                if number % 2 == 0 {
                    group.addTask { call.close() }
                } else {
                    group.addTask { call.change(by: 1) }
                }
            }
        }
        // The calls that are not closed are released with their last reference.
        #expect(ledger.heldBytes == 0)
        connection.close()
    }

    @Test("Nothing more is prepared for a connection that holds half, or when all is used")
    func exhaustion() {
        let ledger = MemoryLedger(limit: 100)
        let reliefs = Reliefs()
        let (first, second) = (reliefs.open("a", ledger), reliefs.open("b", ledger))
        let call = first.open()
        call.change(by: 49)
        #expect(!call.isExhausted && !second.isExhausted)
        call.change(by: 1)
        #expect(call.isExhausted && first.isExhausted && !second.isExhausted)
        second.change(by: 30)
        #expect(!second.isExhausted)
        call.change(by: 20)
        #expect(second.isExhausted)
        for account in [first, second] { account.close() }
    }

    @Test(
        "A large holder stops by itself once the limit is exceeded by a quarter, a small one does not"
    )
    func overdrawn() {
        let ledger = MemoryLedger(limit: 6_400)
        let (large, small) = (ledger.open { _ in }, ledger.open { _ in })
        let query = large.open()
        small.change(by: 100)
        query.change(by: 7_900)
        #expect(!query.isOverdrawn && !small.isOverdrawn)
        query.change(by: 1)
        #expect(query.isOverdrawn && large.isOverdrawn && !small.isOverdrawn)
        for account in [large, small] { account.close() }
    }

    @Test("An account is closed with the one above it, and has its client's address")
    func closed() {
        let connection = MemoryLedger(limit: 100).open(for: "10.0.0.1") { $0() }
        let call = connection.open()
        #expect(call.address == "10.0.0.1" && !call.isClosed)
        connection.close()
        #expect(call.isClosed && connection.isClosed)
    }
}
