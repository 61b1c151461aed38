import BenchmarkMeasuring
import LarderRealtimeModel
import LarderRealtimeSync

/// The processor time of one change of the location *scores* in a sync tree, in comparison with the
/// same where there is little beside it.
struct ChangedScores {
    let figures: Figures
    let count: Int

    /// Measures with 100 children, 10 listeners elsewhere and no pending writes, and with a count of
    /// children and listeners and a tenth as many writes.
    func callAsFunction(rounds: Int) throws {
        let small = ScoresSize(children: 100, listeners: 10, pending: 0)
        let large = ScoresSize(children: count, listeners: count, pending: count / 10)
        for listening in ScoresListening.allCases {
            var few = try Scores(small, listening)
            var many = try Scores(large, listening)
            for change in ScoresChange.allCases {
                let row = "scores-change.\(listening.rawValue).\(change.rawValue)"
                for round in -1..<rounds {
                    for side in [Figure.Side.reference, .larder] {
                        let elapsed = side == .larder ? many.measure(change) : few.measure(change)
                        if round >= 0 { figures.add(row, side, elapsed, units: 1) }
                    }
                }
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
    /// All scores in the order of their keys.
    case plain
    /// All scores in the order of their values.
    case value
    /// The four highest.
    case window
    /// The four highest, and all scores in the order of their keys.
    case both
}

/// What changes.
enum ScoresChange: String, CaseIterable {
    /// The server changes a child.
    case server
    /// A write changes a child, and the server accepts it.
    case write
    /// A write changes a child, and the server refuses it.
    case refusal
    /// A write removes a child, and the server refuses it.
    case removal
}

/// A sync tree with the location *scores*, where one child after the other changes.
struct Scores {
    private let size: ScoresSize
    private let listening: ScoresListening
    private var tree: SyncTree
    private let path = TreePath("scores")
    private var turn = 0
    private var events = 0
    /// The keys of the four highest scores.
    private let best: [ChildKey]

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
        func score(_ number: Int) -> Int { number * 7919 % size.children }
        let numbers = 0..<size.children
        let content = Node(
            children: numbers.map { Child(ChildKey("k\($0)"), Node(.integer(Int64(score($0))))) })
        best = numbers.filter { score($0) >= size.children - 4 }.map { ChildKey("k\($0)") }
        let window = try QueryBuilder().ordered(by: .value).limited(toLast: 4).parameters
        let ordered = try QueryBuilder().ordered(by: .value).parameters
        let last = UInt(size.listeners)
        func listen(_ parameters: QueryParameters, _ offset: UInt, _ tree: inout SyncTree) throws {
            _ = try tree.listen(
                to: QuerySpec(path, parameters), Listener(ListenerID(last + offset), all))
        }
        switch listening {
        case .plain: try listen(.default, 0, &tree)
        case .value: try listen(ordered, 0, &tree)
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

    /// The time of one change.
    mutating func measure(_ change: ScoresChange) -> Elapsed {
        let count = 500
        let start = Elapsed.now
        for _ in 0..<count { perform(change) }
        precondition(events > 0, "no events")
        return (Elapsed.now - start) / Double(count)
    }

    private mutating func perform(_ change: ScoresChange) {
        turn += 1
        // One of the best, so that a window has it.
        let path = path.child(best[(turn * 31) % 4])
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
