import LarderRealtimeBackend
import LarderRealtimeModel

/// The onDisconnect writes of a session, in the order in which its users have alternated.
struct ArmedWrites {
    private(set) var parts: [(user: RealtimeUser?, tree: OnDisconnectTree)] = []

    var isEmpty: Bool { parts.isEmpty }

    /// A user leaves writes, which replace earlier ones at their paths and below.
    mutating func remember(_ values: [PathValue], as user: RealtimeUser?) {
        let goesOn = parts.last.map { $0.user == user } ?? false
        for index in parts.indices where !goesOn || index < parts.count - 1 {
            for value in values { parts[index].tree.replace(at: value.path) }
        }
        if !goesOn { parts.append((user, OnDisconnectTree())) }
        parts[parts.count - 1].tree.remember(.root, values)
        parts.removeAll(where: \.tree.isEmpty)
    }

    mutating func forget(_ path: TreePath) {
        for index in parts.indices { parts[index].tree.forget(path) }
        parts.removeAll(where: \.tree.isEmpty)
    }
}
