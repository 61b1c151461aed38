import LarderModel
import LarderTestSupport
import Testing

@testable import LarderBackend

@Suite("Backend: locks of transactions")
struct DocumentLocksTests {
    private var table = DocumentLocks()
    private let a: LockKey
    private let b: LockKey

    init() throws {
        a = .document(try DocumentPath("c/a"))
        b = .document(try DocumentPath("c/b"))
    }

    private func id(_ number: UInt64) -> TransactionID { TransactionID(number: number) }

    /// Reads as a transaction whose number is its seniority.
    private mutating func read(_ key: LockKey, by number: UInt64) -> DocumentLocks.WaitID? {
        table.read([key], by: id(number), seniority: number)
    }

    private mutating func commit(_ key: LockKey, by number: UInt64?) -> DocumentLocks.WaitID? {
        table.commit([key], by: number.map { id($0) })
    }

    /// The waits that are granted and refused since the last call.
    private mutating func decided() -> (
        granted: [DocumentLocks.WaitID], refused: [DocumentLocks.WaitID]
    ) {
        let decisions = table.takeDecisions()
        return (
            decisions.filter(\.isGranted).map(\.wait),
            decisions.filter { !$0.isGranted }.map(\.wait)
        )
    }

    private mutating func tick(_ count: Int) {
        for _ in 0..<count { table.tick { _ in false } }
    }

    @Test("A commit waits for those who have read what it writes, and not for itself")
    mutating func commits() throws {
        #expect(read(a, by: 1) == nil)
        #expect(commit(a, by: 1) == nil)
        #expect(commit(b, by: nil) == nil)
        let wait = try #require(commit(a, by: nil))
        #expect(decided() == ([], []))
        table.release(id(1))
        #expect(decided() == ([wait], []))
        table.end(wait)
        #expect(table.isIdle)
    }

    @Test("Commits of one key that wait are granted in order, and before a later request")
    mutating func order() throws {
        _ = read(a, by: 1)
        let first = try #require(commit(a, by: nil))
        let second = try #require(commit(a, by: nil))
        table.release(id(1))
        #expect(decided() == ([first, second], []))
        // Both are granted, but not in progress.
        let third = try #require(commit(a, by: nil))
        table.end(first)
        #expect(decided().granted == [third])
        table.end(second)
        table.end(third)
        #expect(commit(a, by: nil) == nil)
    }

    @Test("Reads are shared until there is a conflict; then transactions follow each other")
    mutating func contention() throws {
        #expect(read(a, by: 1) == nil)
        #expect(read(a, by: 2) == nil)
        table.noteConflict(a)
        let third = try #require(read(a, by: 3))
        let fourth = try #require(read(a, by: 4))
        table.release(id(1))
        #expect(decided() == ([], []))
        table.release(id(2))
        #expect(decided() == ([third], []))
        #expect(commit(a, by: 3) == nil)
        table.release(id(3))
        #expect(decided() == ([fourth], []))
        table.release(id(4))
        tick(DocumentLocks.contention)
        #expect(table.isIdle)
        #expect(read(a, by: 5) == nil)
        #expect(read(a, by: 6) == nil)
    }

    @Test("Of two that have read and write the same, the younger is refused")
    mutating func upgrade() throws {
        _ = read(a, by: 1)
        _ = read(a, by: 2)
        let first = try #require(commit(a, by: 1))
        let second = try #require(commit(a, by: 2))
        #expect(decided() == ([first], [second]))
        table.end(first)
        table.release(id(2))
        // A further one waits for the first.
        let third = try #require(read(a, by: 3))
        table.release(id(1))
        #expect(decided() == ([third], []))
    }

    @Test("An attempt that repeats an older transaction is as old")
    mutating func seniority() throws {
        _ = table.read([a], by: id(7), seniority: 1)
        _ = read(a, by: 3)
        let young = try #require(commit(a, by: 3))
        let old = try #require(commit(a, by: 7))
        #expect(decided() == ([old], [young]))
    }

    @Test("In a deadlock of reads the younger may read, but not commit")
    mutating func deadlock() throws {
        table.noteConflict(a)
        table.noteConflict(b)
        _ = read(a, by: 1)
        _ = read(b, by: 2)
        let second = try #require(read(a, by: 2))
        #expect(decided() == ([], []))
        // The older waits for the younger, which waits for it.
        let first = try #require(read(b, by: 1))
        let (granted, none) = decided()
        #expect(Set(granted) == [first, second] && none.isEmpty)
        let refused = try #require(commit(a, by: 2))
        #expect(decided() == ([], [refused]))
        #expect(table.hasLost(id(2)) && !table.hasLost(id(1)))
        table.release(id(2))
        #expect(commit(a, by: 1) == nil)
    }

    @Test("One that lets others wait for long loses its locks")
    mutating func patience() throws {
        _ = read(a, by: 1)
        _ = read(b, by: 1)
        let outside = try #require(commit(a, by: nil))
        tick(DocumentLocks.patience - 1)
        #expect(decided() == ([], []))
        tick(1)
        #expect(decided() == ([outside], []))
        table.end(outside)
        #expect(commit(b, by: nil) == nil)
        // It may still succeed, if nobody has changed what it read, but does not wait for others.
        #expect(commit(b, by: 1) == nil)
        _ = read(b, by: 2)
        let refused = try #require(commit(b, by: 1))
        #expect(decided() == ([], [refused]))
    }

    @Test("Whoever follows in a long line loses nothing, and neither does one that waits itself")
    mutating func longLine() throws {
        table.noteConflict(a)
        _ = read(a, by: 1)
        // Holds b while it waits for a.
        _ = read(b, by: 2)
        let second = try #require(read(a, by: 2))
        let outside = try #require(commit(b, by: nil))
        let third = try #require(read(a, by: 3))
        tick(DocumentLocks.patience - 1)
        table.release(id(1))
        #expect(decided() == ([second], []))
        tick(DocumentLocks.patience - 1)
        #expect(decided() == ([], []))
        tick(1)
        #expect(Set(decided().granted) == [outside, third])
        #expect(table.hasLost(id(2)) && !table.hasLost(id(3)))
    }

    @Test("Locks that nobody waits for are kept, whatever else a wait is for")
    mutating func others() {
        table.noteConflict(a)
        _ = read(a, by: 1)
        _ = read(b, by: 2)
        let wait = table.read([a, b], by: id(3), seniority: 3)
        #expect(wait != nil)
        tick(DocumentLocks.patience)
        #expect(table.hasLost(id(1)) && !table.hasLost(id(2)))
    }

    @Test("Reads that follow each other do not keep a commit waiting for ever")
    mutating func starvation() throws {
        _ = read(a, by: 1)
        let outside = try #require(commit(a, by: nil))
        var last: UInt64 = 1
        while last < 3 * UInt64(DocumentLocks.patience), decided().granted.isEmpty {
            tick(1)
            _ = read(a, by: last + 1)
            table.release(id(last))
            last += 1
        }
        table.end(outside)
        #expect(last < DocumentLocks.patience)
    }

    @Test("One whose client has left loses its locks once others wait")
    mutating func departure() throws {
        _ = read(a, by: 1)
        let outside = try #require(commit(a, by: nil))
        let left = id(1)
        table.tick { $0 == left }
        #expect(decided() == ([outside], []))
    }

    @Test("A wait whose request is cancelled leaves the line")
    mutating func cancellation() throws {
        table.noteConflict(a)
        _ = read(a, by: 1)
        let second = try #require(read(a, by: 2))
        let third = try #require(read(a, by: 3))
        table.end(second)
        table.release(id(1))
        #expect(decided() == ([third], []))
    }

    @Test("What was run again after a conflict of two queries follows each other, too")
    mutating func queries() throws {
        let query = LockKey.query("q")
        for number in 1...2 as ClosedRange<UInt64> {
            #expect(table.read([query], by: id(number), seniority: number) == nil)
            table.hold([a], by: id(number), seniority: number)
        }
        _ = commit(a, by: 1)
        _ = commit(a, by: 2)
        table.release(id(2))
        #expect(table.read([query], by: id(3), seniority: 3) != nil)
    }

    /// A transaction of a random script: reads of keys, then a commit of some of them.
    private struct Script {
        let number: UInt64
        let seniority: UInt64
        var reads: [LockKey]
        let writes: [LockKey]
        var wait: DocumentLocks.WaitID?
    }

    @Test("Whatever transactions read and write, all end without a deadlock", arguments: 0..<40)
    mutating func law(round: UInt64) throws {
        var random = SeededRandom(seed: SeededRandom().seed &+ round)
        let keys = try (0..<5).map { LockKey.document(try DocumentPath("c/\($0)")) }
        for key in keys where random.oneIn(2) { table.noteConflict(key) }
        var last: UInt64 = 0
        var open: [Script] = []
        var begun = 0
        var idle = 0
        while begun < 300 || !open.isEmpty {
            if begun < 300, open.count < 12 {
                last += 1
                begun += 1
                let reads = (0..<random.below(4)).map { _ in random.pick(keys) }
                let others = random.oneIn(4) ? [random.pick(keys)] : []
                let seniority = random.oneIn(5) ? UInt64(random.below(Int(last))) : last
                open.append(
                    Script(
                        number: last, seniority: seniority, reads: reads,
                        writes: Array(Set(reads.prefix(2) + others))))
            }
            let position = random.below(open.count)
            if open[position].wait == nil {
                let isOver = step(&open[position])
                if isOver { table.release(id(open.remove(at: position).number)) }
            }
            let decisions = table.takeDecisions()
            for decision in decisions {
                guard let position = open.firstIndex(where: { $0.wait == decision.wait }) else {
                    continue
                }
                open[position].wait = nil
                if !decision.isGranted || open[position].reads.isEmpty {
                    table.end(decision.wait)
                    table.release(id(open.remove(at: position).number))
                } else {
                    open[position].reads.removeFirst()
                }
            }
            idle = open.allSatisfy { $0.wait != nil } && open.count == 12 ? idle + 1 : 0
            try #require(idle < 3, "all wait: \(random)")
            if begun == 300, !open.isEmpty, open.allSatisfy({ $0.wait != nil }) {
                try #require(!decisions.isEmpty, "the last ones wait: \(random)")
            }
        }
        for decision in table.takeDecisions() { table.end(decision.wait) }
        tick(DocumentLocks.contention)
        #expect(table.isIdle, "\(random)")
    }

    /// Does the next request of a script.
    ///
    /// - Returns: whether the transaction has ended.
    private mutating func step(_ script: inout Script) -> Bool {
        if let key = script.reads.first {
            script.wait = table.read([key], by: id(script.number), seniority: script.seniority)
            if script.wait == nil { script.reads.removeFirst() }
            return false
        }
        script.wait = table.commit(script.writes, by: id(script.number))
        return script.wait == nil
    }
}
