import Larder
import Synchronization

/// A write of a client, and whether the client was told that the server has it.
final class WireWrite: Sendable {
    let number: Int
    let client: Int
    /// The documents that it changes, by id.
    let changed: [String]
    /// Whether it increments the sum of such writes.
    let counts: Bool
    /// Whether it waits in the client's store until the server has answered.
    let isQueued: Bool
    private let acknowledged = Atomic(false)

    init(
        number: Int, client: Int, changed: [String], counts: Bool = false, isQueued: Bool = true
    ) {
        self.counts = counts
        self.isQueued = isQueued
        self.number = number
        self.client = client
        self.changed = changed
    }

    /// Waits for the end of the write.
    func follow(_ handle: WriteHandle) async {
        guard (try? await handle.acknowledged()) != nil else { return }
        noteAcknowledgement()
    }

    /// Notes that the server has it.
    func noteAcknowledgement() {
        acknowledged.store(true, ordering: .relaxed)
    }

    /// Whether the server has it, as its client was told.
    var isAcknowledged: Bool { acknowledged.load(ordering: .relaxed) }
}
