import BenchmarkMeasuring
import Foundation
import LarderRealtimeModel
import LarderRealtimeSync

/// Measures what one change of the location *scores* costs in a sync tree, and prints processor
/// time and how it grows: with 100 children, 10 listeners elsewhere and no pending writes, then with
/// 100,000, 100,000 and 10,000.
@main
struct RealtimeSyncBenchmark {
    static func main() throws {
        let small = ScoresSize(children: 100, listeners: 10, pending: 0)
        let large = ScoresSize(children: 100_000, listeners: 100_000, pending: 10_000)
        print("\("nanoseconds of processor time".padded(58)) small    large   ratio")
        for listening in ScoresListening.allCases {
            for change in ScoresChange.allCases {
                var figures: [Double] = []
                for size in [small, large] {
                    var scores = try Scores(size, listening)
                    figures.append(scores.measure(change))
                }
                let name = "\(listening.rawValue), \(change.rawValue)"
                let ratio = figures[1] / figures[0]
                print(
                    name.padded(58),
                    figures.map { Number(($0 * 1e9).rounded()).description.leftPadded(8) }
                        .joined(separator: " "), Number(ratio).description.leftPadded(6))
            }
        }
    }
}

/// How much there is beside what changes.
struct ScoresSize {
    let children: Int
    let listeners: Int
    let pending: Int
}

/// What listens to the scores.
enum ScoresListening: String, CaseIterable {
    case plain = "plain listener"
    case byValue = "listener by value"
    case window = "limitToLast(4) by value"
    case both = "limitToLast(4) below a plain listener"
}

/// What changes.
enum ScoresChange: String, CaseIterable {
    case server = "server changes a child"
    case write = "write and its acknowledgement"
    case refusal = "write and its refusal"
    case removal = "write removes a child, server refuses"
}

/// A sync tree with the location *scores*, where one child after the other changes.
struct Scores {
    private let size: ScoresSize
    private let listening: ScoresListening
    private var tree: SyncTree
    private let path = TreePath("scores")
    private var turn = 0
    private var events = 0

    init(_ size: ScoresSize, _ listening: ScoresListening) throws {
        self.size = size
        self.listening = listening
        var tree = SyncTree()
        let path = path
        let all = Set(TreeEventType.allCases)
        for number in 0..<size.listeners {
            let path = TreePath("rooms/r\(number)/messages")
            _ = try tree.listen(to: QuerySpec(path), Listener(ListenerID(UInt(number)), all))
        }
        for number in 0..<size.pending {
            // Half of them elsewhere, half of them at other children of the same location.
            let path = number % 2 == 0 ? "outbox/w\(number)" : "scores/w\(number)"
            let id = tree.newWriteID()
            _ = tree.write(
                PendingWrite(id, at: TreePath(path), .overwrite(Node(.integer(Int64(number))))),
                at: 0)
        }
        let content = Node(
            children: (0..<size.children).map {
                Child(ChildKey("k\($0)"), Node(.integer(Int64($0 * 7919 % size.children))))
            })
        let window = try QueryBuilder().ordered(by: .value).limited(toLast: 4).parameters
        let ordered = try QueryBuilder().ordered(by: .value).parameters
        let last = UInt(size.listeners)
        func listen(_ parameters: QueryParameters, _ offset: UInt, _ tree: inout SyncTree) throws {
            _ = try tree.listen(
                to: QuerySpec(path, parameters), Listener(ListenerID(last + offset), all))
        }
        switch listening {
        case .plain: try listen(.default, 0, &tree)
        case .byValue: try listen(ordered, 0, &tree)
        case .window: try listen(window, 0, &tree)
        case .both:
            try listen(.default, 0, &tree)
            try listen(window, 1, &tree)
        }
        if listening == .window {
            _ = tree.serverOverwrite(path, window.filtered(content), tag: 1)
            _ = tree.listenCompleted(path, tag: 1)
        } else {
            _ = tree.serverOverwrite(path, content)
            _ = tree.listenCompleted(path)
        }
        _ = tree.takeListenEffects()
        self.tree = tree
    }

    /// Processor seconds of one change: the least of several rounds.
    mutating func measure(_ change: ScoresChange) -> Double {
        let count = 200
        var least = Double.infinity
        for _ in 0..<12 {
            let start = Clock.processor
            for _ in 0..<count { perform(change) }
            least = min(least, (Clock.processor - start) / Double(count))
        }
        precondition(events > 0, "no events")
        return least
    }

    private mutating func perform(_ change: ScoresChange) {
        turn += 1
        // The best ones, so that a window has them.
        let number = (turn * 31) % 4
        let best = (0..<4).map { (size.children - 1 - $0) }
        let key = ChildKey("k\(index(ofScore: best[number]))")
        let path = path.child(key)
        let score = Node(.integer(Int64(size.children + turn % 100)))
        switch change {
        case .server:
            take(push(path, score))
        case .write:
            let id = tree.newWriteID()
            take(tree.write(PendingWrite(id, at: path, .overwrite(score)), at: 0))
            take(push(path, score))
            take(tree.acknowledge(id))
        case .refusal, .removal:
            let id = tree.newWriteID()
            let node = change == .removal ? .empty : score
            take(tree.write(PendingWrite(id, at: path, .overwrite(node)), at: 0))
            take(tree.revert(id))
        }
    }

    private func index(ofScore score: Int) -> Int {
        // The inverse of the multiplication above, found once for each of the four.
        Scores.indexes[size.children]?[score] ?? 0
    }

    private static let indexes: [Int: [Int: Int]] = Dictionary(
        uniqueKeysWithValues: [100, 100_000].map { count in
            (
                count,
                Dictionary(
                    (0..<count).map { ($0 * 7919 % count, $0) }.filter { $0.0 >= count - 4 },
                    uniquingKeysWith: { first, _ in first })
            )
        })

    private mutating func push(_ path: TreePath, _ node: Node) -> [TreeEvent] {
        if listening == .window {
            return tree.serverMerge(
                self.path, [PathValue(path.dropFirst(self.path.count), node)], tag: 1)
        }
        return tree.serverOverwrite(path, node)
    }

    private mutating func take(_ raised: [TreeEvent]) {
        events += raised.count
    }
}
