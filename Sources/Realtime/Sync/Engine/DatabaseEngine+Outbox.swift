import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime

extension DatabaseEngine {
    // MARK: Pending writes

    /// The writes that the server has not answered, in order.
    private var queuedWrites: [QueuedWrite] {
        // Those that the turn replaces are in the outbox until its commit.
        let replaced = Set(writes.values.compactMap { $0.replaced?.id })
        let plain = writes.compactMap { id, write in
            replaced.contains(id)
                ? nil
                : QueuedWrite(
                    id: id, request: write.request, isTransaction: false, time: write.time,
                    isSent: outbox.isInFlight(write.place))
        }
        let outputs = transactionWork.compactMap { id, work in
            work.saved.map { saved in
                QueuedWrite(
                    id: WriteID(id.rawValue), request: .overwrite(saved.path, saved.output),
                    isTransaction: true, time: work.time, isSent: transactions.isSent(id))
            }
        }
        let others = foreign.all.map { write in
            let isTransaction = if case .transaction = write.content { true } else { false }
            return QueuedWrite(
                id: WriteID(write.id), request: WriteRequest(PendingWrite(foreign: write)),
                isTransaction: isTransaction, time: write.time, isSent: false)
        }
        return (plain + outputs + others).sorted { $0.id < $1.id }
    }

    func pendingWrites(_ completion: @escaping Completion<[QueuedWrite]>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        let queued = queuedWrites
        call(later: { completion(.success(queued)) })
    }

    func addPendingObserver(_ id: ID, _ deliver: @escaping @Sendable ([QueuedWrite]) -> Void) {
        guard !isTerminated else { return }
        pendingObservers.add(id, Self.successes(deliver)) { queuedWrites }
    }

    // MARK: Dead writes

    func deadWrites(_ completion: @escaping Completion<[DeadWrite]>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        let dead = disk.deadWrites
        call(later: { completion(.success(dead)) })
    }

    func addDeadObserver(_ id: ID, _ deliver: @escaping @Sendable ([DeadWrite]) -> Void) {
        guard !isTerminated else { return }
        deadObservers.add(id, Self.successes(deliver)) { disk.deadWrites }
    }

    func discardDeadWrite(_ id: WriteID, _ completion: @escaping Completion<Bool>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        let wasThere = removeDeadWrite(id)
        call(later: { completion(.success(wasThere)) })
    }

    /// Forgets a refused write; false if there is none.
    @discardableResult
    func removeDeadWrite(_ id: WriteID) -> Bool {
        guard disk.removeDeadWrite(id) else { return false }
        deadObservers.noteChange()
        return true
    }

    /// Keeps a write that the server has refused.
    func bury(_ write: DeadWrite) {
        disk.add(write)
        deadObservers.noteChange()
    }

    // MARK: Observers

    /// Notes that the list of pending writes is another.
    func outboxChanged() {
        pendingObservers.noteChange()
    }

    /// Delivers lists that have changed in the turn.
    func observeOutbox() {
        pendingObservers.sendChange { queuedWrites }
        deadObservers.sendChange { disk.deadWrites }
    }

    private static func successes<Element>(
        _ deliver: @escaping @Sendable ([Element]) -> Void
    ) -> ListObservers<Element>.Deliver {
        { result in
            if case .success(let list) = result { deliver(list) }
        }
    }
}
