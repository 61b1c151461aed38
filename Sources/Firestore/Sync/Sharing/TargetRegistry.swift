/// The targets that other clients of a store want to hear of, as the primary knows them.
package struct TargetRegistry: Sendable {
    private var targets: [String: Set<Int32>] = [:]
    private var counts: [Int32: Int] = [:]

    /// Nobody wants anything.
    package init() {}

    /// What clients want.
    package init(_ clients: some Sequence<ClientRow>) {
        for client in clients { begin(client.targets, of: client.id) }
    }

    /// Every target that somebody wants.
    package var all: Set<Int32> { Set(counts.keys) }

    /// What a client wants.
    package func targets(of client: String) -> Set<Int32> { targets[client] ?? [] }

    /// Whether somebody wants a target.
    package func wants(_ id: Int32) -> Bool { counts[id] != nil }

    /// A client wants targets, which it may have wanted before.
    package mutating func begin(_ ids: Set<Int32>, of client: String) {
        for id in ids where targets[client, default: []].insert(id).inserted {
            counts[id, default: 0] += 1
        }
    }

    /// A client wants targets no longer.
    package mutating func end(_ ids: Set<Int32>, of client: String) {
        for id in ids where targets[client]?.remove(id) != nil { release(id) }
        if targets[client]?.isEmpty == true { targets[client] = nil }
    }

    /// Nobody wants a target any more.
    package mutating func forget(_ id: Int32) {
        for client in targets.keys { targets[client]?.remove(id) }
        counts[id] = nil
    }

    private mutating func release(_ id: Int32) {
        guard let count = counts[id] else { return }
        counts[id] = count > 1 ? count - 1 : nil
    }
}
