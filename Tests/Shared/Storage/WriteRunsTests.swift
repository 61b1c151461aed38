import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Runs of writes")
struct WriteRunsTests {
    private let store: Store

    init() throws {
        store = try Store(StoreConfiguration.inMemory())
    }

    @discardableResult
    private func begin(
        _ name: String, with number: Int64, of client: Int64 = 0, pending: Set<Int64> = []
    ) throws -> WriteRuns {
        try store.write { transaction throws(LarderError) in
            try transaction.beginWriteRun(name, with: number, of: client, in: "runs") {
                (range, client, _) throws(LarderError) in
                pending.contains {
                    range.contains($0) && (client == 0 || $0 & WriteRuns.clientMask == client)
                }
            }
        }
    }

    private var stored: WriteRuns {
        get throws {
            try store.read { (transaction) throws(LarderError) in
                try transaction.writeRuns("runs")
            }
        }
    }

    @Test("A write has the name of the run that was the last to begin before it")
    func names() throws {
        #expect(try stored == WriteRuns())
        #expect(try stored.name(ofWrite: 1) == nil)
        try begin("a", with: 5)
        try begin("a", with: 6)
        let runs = try begin("b", with: 8, pending: [4, 6])
        #expect(
            [4, 5, 7, 8, 9].map(runs.name(ofWrite:)) == [nil, "5-a", "7-a", "8-b", "9-b"])
        #expect(try stored == runs)
    }

    @Test("Runs without pending writes are forgotten")
    func forgotten() throws {
        try begin("a", with: 1)
        try begin("b", with: 10, pending: [3])
        try begin("c", with: 20, pending: [3])
        let runs = try begin("d", with: 30, pending: [3, 25])
        #expect([3, 25, 30].map(runs.name(ofWrite:)) == ["3-a", "25-c", "30-d"])
        let last = try begin("e", with: 40)
        #expect([3, 25, 30, 40].map(last.name(ofWrite:)) == [nil, nil, nil, "40-e"])
    }

    @Test("A number that is given again after a restore is of the later run")
    func again() throws {
        try begin("a", with: 5)
        let runs = try begin("b", with: 5, pending: [5])
        #expect(runs.name(ofWrite: 5) == "5-b")
    }

    @Test("Clients with numbers have runs of their own")
    func clients() throws {
        func number(_ count: Int64, _ client: Int64) -> Int64 { count << 20 | client }
        try begin("x", with: 7)
        let pending: Set<Int64> = [7, number(2, 1), number(5, 2), number(5, 1)]
        try begin("a", with: number(2, 1), of: 1, pending: pending)
        try begin("b", with: number(3, 2), of: 2, pending: pending)
        let runs = try begin("c", with: number(4, 3), of: 3, pending: pending)
        #expect(runs.name(ofWrite: 7) == "7-x")
        #expect(runs.name(ofWrite: number(5, 1)) == "\(number(5, 1))-a")
        #expect(runs.name(ofWrite: number(4, 2)) == "\(number(4, 2))-b")
        #expect(runs.name(ofWrite: number(9, 3)) == "\(number(9, 3))-c")
        let last = try begin("c", with: number(9, 3), of: 3, pending: [number(5, 1)])
        #expect(last == runs)
        let later = try begin("d", with: number(9, 4), of: 4, pending: [number(5, 1)])
        #expect(later.name(ofWrite: number(5, 1)) == "\(number(5, 1))-a")
        // It is not pending any more.
        #expect(later.name(ofWrite: number(5, 2)) != "\(number(5, 2))-b")
    }

    @Test("A damaged value has no runs")
    func damaged() throws {
        for text in ["", "1", "1 2", "x 0 a", "1 0 a 2"] {
            try store.write { transaction throws(LarderError) in
                try transaction.putNamedValue(.global, "runs", Array(text.utf8))
            }
            _ = try stored.name(ofWrite: 1)
        }
        #expect(try stored.name(ofWrite: 1) == "1-a")
    }
}
