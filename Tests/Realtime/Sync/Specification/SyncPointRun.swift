import LarderRealtimeModel
import LarderRealtimeSync

/// A run of a specification test with all its paths below a base.
struct SyncPointRun {
    let base: TreePath
    private var tree = SyncTree()
    private var listeners: [ListenerID: QuerySpec] = [:]
    private var callbacks: [Callback: ListenerID] = [:]
    private var activeListens: Set<Listen> = []
    private var nextWrite: Int64 = 0
    private(set) var failures: [String] = []

    private struct Callback: Hashable {
        let path: TreePath
        let id: Int64
    }

    private struct Listen: Hashable {
        let query: QuerySpec
        let tag: Int?
    }

    /// An event that the tree raised.
    private struct Raised {
        let listener: ListenerID
        let path: TreePath
        let type: TreeEventType
        let name: String?
        let previousName: String?
        let node: Node
    }

    init(base: TreePath) {
        self.base = base
    }

    /// Runs a test.
    ///
    /// - Returns: what was not as expected, in words.
    static func failures(of test: SyncPointCase, base: TreePath) -> [String] {
        var run = SyncPointRun(base: base)
        for (number, step) in test.steps.enumerated() {
            run.perform(step, "'\(test.name)' at \(base), step \(number + 1)")
        }
        return run.failures
    }

    private mutating func perform(_ step: SyncPointCase.Step, _ place: String) {
        do {
            let events = try apply(step.action, at: base.appending(step.path)).compactMap(raised)
            var isExact = false
            switch step.action {
            case .listen, .unlisten: isExact = true
            case .nothing: return
            default: break
            }
            let problem =
                isExact ? exactProblem(events, step.events) : groupedProblem(events, step.events)
            if let problem {
                let list = events.map { describe($0) }.joined(separator: "\n    ")
                failures.append("\(place): \(problem); raised:\n    \(list)")
            }
            try checkListens()
        } catch {
            failures.append("\(place): \(error)")
        }
    }

    private mutating func apply(
        _ action: SyncPointCase.Action, at path: TreePath
    ) throws -> [TreeEvent] {
        switch action {
        case .listen(let parameters, let callback):
            let id = ListenerID(UInt(listeners.count + 1))
            let query = QuerySpec(path, parameters)
            listeners[id] = query
            if let callback { callbacks[Callback(path: path, id: callback)] = id }
            return try tree.listen(to: query, Listener(id, Set(TreeEventType.allCases)))
        case .unlisten(let callback):
            if let id = callbacks[Callback(path: path, id: callback)] {
                tree.stopListening(to: QuerySpec(path), id)
            }
            return []
        case .serverUpdate(let node, let tag):
            return tree.serverOverwrite(path, node, tag: tag)
        case .serverMerge(let values, let tag):
            return tree.serverMerge(path, values, tag: tag)
        case .set(let node, let isVisible):
            return write(.overwrite(node), at: path, isVisible: isVisible)
        case .update(let values):
            return write(.merge(values), at: path)
        case .acknowledgement(let id, let reverts):
            return reverts ? tree.revert(WriteID(id)) : tree.acknowledge(WriteID(id))
        case .nothing:
            return []
        }
    }

    private mutating func write(
        _ change: PendingWrite.Change, at path: TreePath, isVisible: Bool = true
    ) -> [TreeEvent] {
        defer { nextWrite += 1 }
        return tree.write(
            PendingWrite(WriteID(nextWrite), at: path, change, isVisible: isVisible), at: 0)
    }

    /// Checks that no listen is begun twice, and none ended that is not there.
    private mutating func checkListens() throws {
        for effect in tree.takeListenEffects() {
            switch effect {
            case .listen(let query, let tag):
                guard activeListens.insert(Listen(query: query, tag: tag)).inserted else {
                    throw SyncPointCase.Malformed("\(query) is listened to twice")
                }
            case .unlisten(let query, let tag):
                guard activeListens.remove(Listen(query: query, tag: tag)) != nil else {
                    throw SyncPointCase.Malformed("\(query) was not listened to")
                }
            }
        }
    }
}

// MARK: - Comparison

extension SyncPointRun {
    private func raised(_ event: TreeEvent) -> Raised? {
        switch event.change {
        case .value(let node):
            Raised(
                listener: event.listener, path: event.query.path, type: .value, name: nil,
                previousName: nil, node: node)
        case .child(let type, let child, let previous):
            Raised(
                listener: event.listener, path: event.query.path, type: type,
                name: child.key.text, previousName: previous?.text, node: child.node)
        case .cancelled: nil
        }
    }

    private func exactProblem(_ raised: [Raised], _ expected: [SyncPointCase.Event]) -> String? {
        if raised.count != expected.count { return "\(expected.count) events expected" }
        for (event, expected) in zip(raised, expected)
        where !matches(event, expected) || event.previousName != expected.previousName {
            return "\(describe(expected)) expected in this order"
        }
        return nil
    }

    /// Compares location by location in the expected order, and within each without an order.
    private func groupedProblem(_ raised: [Raised], _ expected: [SyncPointCase.Event]) -> String? {
        if raised.count != expected.count { return "\(expected.count) events expected" }
        var rest = expected[...]
        var raised = raised[...]
        while let first = rest.first {
            var group = Array(rest.prefix { $0.path == first.path })
            rest = rest.dropFirst(group.count)
            var lastTypes: [ListenerID: TreeEventType] = [:]
            for event in raised.prefix(group.count) {
                if lastTypes[event.listener].map({ $0 > event.type }) ?? false {
                    return "\(describe(event)) comes too late"
                }
                lastTypes[event.listener] = event.type
                guard let match = group.firstIndex(where: { matches(event, $0) }) else {
                    return "\(describe(event)) was not expected here"
                }
                group.remove(at: match)
            }
            raised = raised.dropFirst(raised.count - rest.count)
        }
        return nil
    }

    private func matches(_ event: Raised, _ expected: SyncPointCase.Event) -> Bool {
        guard event.path == base.appending(expected.path), name(of: event.type) == expected.type,
            event.node.hash == expected.hash
        else { return false }
        if event.type == .value { return true }
        return event.name == expected.name
            && (event.type == .childRemoved || event.previousName == expected.previousName)
    }

    private func name(of type: TreeEventType) -> String {
        switch type {
        case .childRemoved: "child_removed"
        case .childAdded: "child_added"
        case .childMoved: "child_moved"
        case .childChanged: "child_changed"
        case .value: "value"
        }
    }

    private func describe(_ event: Raised) -> String {
        "\(name(of: event.type)) of \(event.path) \(event.name ?? "-")"
            + " after \(event.previousName ?? "-"): \(event.node)"
    }

    private func describe(_ event: SyncPointCase.Event) -> String {
        "\(event.type) of \(event.path) \(event.name ?? "-") after \(event.previousName ?? "-")"
    }
}
