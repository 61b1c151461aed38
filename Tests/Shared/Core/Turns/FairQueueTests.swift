import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("Fair queue")
struct FairQueueTests {
    private typealias Queue = FairQueue<String, Int>

    private func taken(_ queue: inout Queue, _ count: Int, cost: [String: Duration] = [:])
        -> [String]
    {
        var taken: [String] = []
        while taken.count < count, let (client, work) = queue.next() {
            taken.append("\(client)\(work)")
            if let cost = cost[client] { queue.charge(cost, to: client) }
        }
        return taken
    }

    @Test("clients with work that costs the same alternate, each in its order")
    func alternation() {
        var queue = Queue()
        for number in 1...4 { queue.add(number, of: "a") }
        for number in 1...2 { queue.add(number, of: "b") }
        #expect(taken(&queue, 10) == ["a1", "b1", "a2", "b2", "a3", "a4"])
        #expect(!queue.isReady && queue.next() == nil)
    }

    @Test("a client with costly work waits while others have work, and saves no turns up")
    func costs() {
        var queue = Queue()
        for number in 1...3 { queue.add(number, of: "a") }
        #expect(taken(&queue, 1, cost: ["a": .seconds(1)]) == ["a1"])
        // b was idle meanwhile: it begins now, and takes the second that a has had.
        for number in 1...5 { queue.add(number, of: "b") }
        let cost = ["a": Duration.seconds(1), "b": .milliseconds(300)]
        #expect(
            taken(&queue, 10, cost: cost) == ["b1", "b2", "b3", "b4", "a2", "b5", "a3"])
        // What was used is forgotten once nothing waits.
        queue.add(6, of: "b")
        for number in 1...2 { queue.add(number, of: "c") }
        #expect(taken(&queue, 10, cost: ["c": .seconds(9)]) == ["b6", "c1", "c2"])
    }

    @Test("the work of a held client waits, and keeps its place")
    func holding() {
        var queue = Queue()
        for number in 1...2 { queue.add(number, of: "a") }
        queue.add(1, of: "b")
        queue.hold("a")
        #expect(taken(&queue, 5) == ["b1"] && !queue.isReady)
        queue.putBack(0, of: "a")
        #expect(queue.next() == nil)
        queue.release("a")
        queue.release("unknown")
        #expect(taken(&queue, 5) == ["a0", "a1", "a2"])
    }

    @Test("work that is removed is not done, and the rest is")
    func removal() {
        var queue = Queue()
        for number in 1...6 { queue.add(number, of: "a") }
        queue.removeAll(of: "a") { $0 % 2 == 0 }
        queue.removeAll(of: "b") { _ in true }
        #expect(queue.count(of: "a") == 3 && taken(&queue, 9) == ["a1", "a3", "a5"])
        queue.add(7, of: "a")
        queue.removeAll(of: "a") { _ in true }
        #expect(!queue.isReady && queue.next() == nil)
    }

    @Test("clients that have gone are forgotten")
    func forgetting() {
        var queue = FairQueue<Int, Int>()
        for client in 0..<10_000 {
            queue.add(client, of: client)
            #expect(queue.next()?.work == client)
        }
        #expect(queue.clientCount < 200)
    }

    @Test("nothing is lost or done twice, whatever happens", arguments: 0..<20)
    func random(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = Queue()
        var (waiting, held): ([String: [Int]], Set<String>) = ([:], [])
        for number in 0..<2_000 {
            let client = "abcdef".map(String.init).randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                queue.add(number, of: client)
                waiting[client, default: []].append(number)
            case 4:
                queue.hold(client)
                held.insert(client)
            case 5:
                queue.release(client)
                held.remove(client)
            case 6:
                queue.removeAll(of: client) { $0 % 3 == 0 }
                waiting[client]?.removeAll { $0 % 3 == 0 }
            default:
                let ready = waiting.filter { !$0.value.isEmpty && !held.contains($0.key) }
                #expect(queue.isReady == !ready.isEmpty)
                guard let (next, work) = queue.next() else {
                    #expect(ready.isEmpty)
                    continue
                }
                #expect(ready[next]?.first == work)
                waiting[next]?.removeFirst()
                queue.charge(.microseconds(Int.random(in: 0..<50, using: &random)), to: next)
            }
        }
    }
}
