import LarderRealtimeModel
import LarderRealtimeStore

/// The pending writes of other clients of the store, until this client's own connection shows what
/// has become of them.
///
/// ```
///   pending --- accepted ---> settling --- barrier sent ---> sent --- answered ---> (removed)
///      |                         |                             |
///      | cancelled, refused      +------- connection lost -----+---> (its values become the
///      v                                                              server's data)
///   (removed)
/// ```
///
/// A pure machine. The server sends another client's write over this client's own connection, which
/// may be slower than the news that it was accepted. So an accepted write stays visible until the
/// server has answered a request that was sent later, the barrier.
struct ForeignWrites: Sendable {
    private var pending: [WriteID: StoredWrite] = [:]
    /// Accepted writes for which no barrier was sent.
    private var settling: [WriteID] = []
    /// Accepted writes by the number of their barrier.
    private var sent: [Int: [WriteID]] = [:]

    /// The pending writes, in no order.
    var all: [StoredWrite] { Array(pending.values) }

    var count: Int { pending.count }

    /// True if a barrier is to be sent.
    var needsBarrier: Bool { !settling.isEmpty }

    func contains(_ id: WriteID) -> Bool { pending[id] != nil }

    /// A write was added or has changed.
    ///
    /// - Returns: false if it shows nothing else than before.
    mutating func save(_ write: StoredWrite) -> Bool {
        let old = pending.updateValue(write, forKey: WriteID(write.id))
        return old.map { PendingWrite(foreign: $0) } != PendingWrite(foreign: write)
    }

    /// A write was removed and not accepted.
    ///
    /// - Returns: false if there is none of that number.
    mutating func remove(_ id: WriteID) -> Bool {
        pending.removeValue(forKey: id) != nil
    }

    /// A write was accepted, whose effect this client's connection shows after a barrier.
    mutating func settle(_ id: WriteID) {
        pending[id] = nil
        settling.append(id)
    }

    /// Takes the writes of clients that have ended, in their order.
    mutating func take(where isTaken: (WriteID) -> Bool) -> [StoredWrite] {
        let taken = pending.keys.filter(isTaken).sorted()
        return taken.compactMap { pending.removeValue(forKey: $0) }
    }

    // MARK: Barriers

    /// A barrier is sent.
    mutating func barrierSent(_ number: Int) {
        sent[number] = settling
        settling = []
    }

    /// The server has answered; the writes that are settled, or nil if the number is of no barrier.
    mutating func answered(_ number: Int) -> [WriteID]? {
        sent.removeValue(forKey: number)
    }

    /// The connection has ended: no answer will come for the accepted writes that this returns, in
    /// their order.
    mutating func disconnect() -> [WriteID] {
        defer {
            settling = []
            sent = [:]
        }
        return (sent.values.joined() + settling).sorted()
    }
}

extension PendingWrite {
    /// A write of another client.
    init(foreign write: StoredWrite) {
        let (path, change, isVisible): (TreePath, Change, Bool) =
            switch write.content {
            case .overwrite(let path, let node): (path, .overwrite(node), true)
            case .merge(let path, let values): (path, .merge(values), true)
            case .transaction(let transaction):
                (transaction.path, .overwrite(transaction.output), transaction.isVisible)
            }
        self.init(
            WriteID(write.id), at: path, change, isVisible: isVisible, isForeign: true)
    }
}
