import LarderCore
package import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeStore
import LarderRuntime

/// The origin of a request of the outbox.
enum OutboxWork {
    case write(WriteID)
    /// The put has a name, by which servers of ours recognize it.
    case transactions(TransactionPutID, name: String)
    case disconnect(DisconnectOperation, Completion<Void>)

    func fail(_ error: LarderError) {
        if case .disconnect(_, let completion) = self { completion(.failure(error)) }
    }
}

/// A write that the server has not answered.
struct OutgoingWrite {
    let request: WriteRequest
    /// Its place in the outbox.
    var place: RequestOutbox.ID
    /// The time of the turn in which it was made, which is stored with it.
    let time: Timestamp
    var acknowledged: Completion<Void>
    /// The write that this one is sent instead of, until this one is on disk.
    var replaced: ReplacedWrite?
    /// The refused write that this one makes again.
    var retried: DeadWrite?
}

/// A write that is not sent because a later one replaces it.
struct ReplacedWrite {
    let id: WriteID
    /// The request that it would send.
    let entry: RequestOutbox.Entry
}

// MARK: - Making writes

extension DatabaseEngine {
    func write(
        _ request: WriteRequest, insteadOf deadWrite: WriteID?,
        committed: @escaping Completion<WriteID?>, acknowledged: @escaping Completion<Void>
    ) {
        guard !isTerminated else { return committed(.failure(DatabaseClient.terminated)) }
        do throws(LarderError) {
            if try isLocalOnly(request) {
                return try writeLocally(
                    request, insteadOf: deadWrite, committed: committed,
                    acknowledged: acknowledged)
            }
        } catch {
            return committed(.failure(error))
        }
        let overwritten = overwrittenWrite(by: request)
        let id = tree.newWriteID()
        disk.noteNewWrite(id)
        let write = PendingWrite(id, at: request.path, request.change)
        deliver(later: tree.write(write, at: serverMilliseconds))
        deliveries.append(.made(id, committed))
        enqueue(id, request, disk.time, acknowledged)
        if let overwritten { replace(overwritten, by: id) }
        if let deadWrite {
            writes[id]?.retried = disk.deadWrite(deadWrite)
            removeDeadWrite(deadWrite)
        }
        overrideTransactions(by: request)
    }

    func enqueue(
        _ id: WriteID, _ request: WriteRequest, _ time: Timestamp,
        _ acknowledged: @escaping Completion<Void>
    ) {
        let place = outbox.add(RequestOutbox.Entry(request.remoteRequest))
        outboxWork[place] = .write(id)
        writes[id] = OutgoingWrite(
            request: request, place: place, time: time, acknowledged: acknowledged)
        outboxChanged()
    }

    private func reserveCapacity(_ count: Int) {
        outbox.reserveCapacity(count)
        outboxWork.reserveCapacity(count)
        writes.reserveCapacity(count)
        tree.reserveCapacity(forWrites: count)
    }

    /// Shows and queues the writes and transactions that an earlier run has left, in their order.
    func restoreWrites() {
        do throws(LarderError) {
            let saved = try disk.savedWrites()
            reserveCapacity(saved.count)
            for saved in saved {
                if disk.membership?.serves(WriteID(saved.id)) == false {
                    show(saved)
                    continue
                }
                switch disk.work(saved: saved) {
                case .write(let write, let time):
                    tree.restore(write, at: serverMilliseconds)
                    enqueue(write.id, WriteRequest(write), time) { _ in }
                case .transaction(let transaction, let time, let wasSent):
                    restore(transaction, time, wasSent: wasSent)
                }
            }
        } catch {
            log("the writes of an earlier run cannot be read: \(error.message)")
        }
        awaitTransactionHandlers()
    }

    /// Takes what was not sent out of the outbox, from the first write after another on.
    func takeUnsent(after id: WriteID) -> [(id: RequestOutbox.ID, entry: RequestOutbox.Entry)] {
        let later = writes.lazy.filter { $0.key > id && !self.outbox.isInFlight($0.value.place) }
        guard let first = later.map(\.value.place).min() else { return [] }
        return outbox.removeUnsent(from: first)
    }

    /// Puts a request that was taken out of the outbox after all others.
    func enqueue(_ entry: RequestOutbox.Entry, from place: RequestOutbox.ID) {
        let work = outboxWork.removeValue(forKey: place)
        let new = outbox.add(entry)
        outboxWork[new] = work
        if case .write(let id)? = work { writes[id]?.place = new }
    }

    /// The write that a new one makes superfluous, if that is wanted.
    private func overwrittenWrite(by request: WriteRequest) -> WriteID? {
        guard configuration.mergesOverwrittenWrites, case .overwrite(let path, let node) = request,
            !node.hasDeferredValues, let last = outbox.lastUnsent,
            case .put(path, _, hash: nil) = last.request,
            case .write(let id)? = outboxWork[last.id]
        else { return nil }
        return id
    }

    /// Sends a later write instead of one that was not sent.
    private func replace(_ id: WriteID, by later: WriteID) {
        guard let place = writes[id]?.place, let entry = outbox.remove(place) else { return }
        writes[later]?.replaced = ReplacedWrite(id: id, entry: entry)
    }

    /// A write is on disk: the one that it replaces is taken back, and acknowledged with it.
    func endReplacing(by later: WriteID) {
        guard let acknowledged = writes[later]?.acknowledged,
            let id = writes[later]?.replaced?.id, let write = writes.removeValue(forKey: id)
        else { return }
        outboxWork[write.place] = nil
        deliver(later: tree.revert(id))
        writes[later]?.replaced = nil
        writes[later]?.acknowledged = { result in
            write.acknowledged(result)
            acknowledged(result)
        }
        outboxChanged()
    }

    /// Removes a write from what is sent.
    @discardableResult
    func withdraw(_ id: WriteID) -> OutgoingWrite? {
        guard let write = writes[id], outbox.cancel(write.place) else { return nil }
        outboxWork[write.place] = nil
        writes[id] = nil
        if let replaced = write.replaced, let place = writes[replaced.id]?.place {
            outbox.putBack(place, replaced.entry)
        }
        outboxChanged()
        return write
    }
}

// MARK: - Answers

extension DatabaseEngine {
    /// An answer of the server to a request of the outbox.
    func receive(_ answer: RequestOutbox.Answer) {
        let isAccepted = answer.response.status == .ok
        let result: Result<Void, LarderError> =
            isAccepted ? .success(()) : .failure(answer.response.error)
        switch outboxWork.removeValue(forKey: answer.id) {
        case .write(let id): settle(id, result)
        case .transactions(let put, let name):
            if isAccepted, namesID != nil { answeredWrites.append(name) }
            settle(put, answer.response)
        case .disconnect(let operation, let completion):
            if isAccepted { disconnectRecorded(operation) }
            call(later: { completion(result) })
        case nil: break
        }
        outboxChanged()
    }

    /// The request that is sent: a write with a token, by which it is applied once however often it is
    /// sent; the put of transactions with one if the server keeps names.
    func requestToSend(_ sending: RequestOutbox.Sending) -> RealtimeRequest {
        let name: String
        switch outboxWork[sending.id] {
        case .write(let id):
            guard let write = writes[id] else { return sending.request }
            name = disk.writeNames.name(of: id, at: write.time)
        case .transactions(_, let putName) where namesID != nil: name = putName
        case .transactions, .disconnect, nil: return sending.request
        }
        defer { (answeredWrites, hasNamedFormer) = ([], true) }
        return .once(
            WriteToken(
                client: disk.clientName, write: name, answered: answeredWrites,
                former: hasNamedFormer ? [] : disk.formerSessions),
            sending.request)
    }

    private func settle(_ id: WriteID, _ result: Result<Void, LarderError>) {
        guard let write = writes.removeValue(forKey: id) else { return }
        switch result {
        case .success:
            disk.noteAccepted(id.rawValue)
            answeredWrites.append(disk.writeNames.name(of: id, at: write.time))
            deliver(later: tree.acknowledge(id))
        case .failure(let error):
            deliver(later: tree.revert(id))
            refuse(id, write, error)
        }
        call(later: { write.acknowledged(result) })
        for path in write.request.paths { dataChanged(at: path) }
    }

    private func refuse(_ id: WriteID, _ write: OutgoingWrite, _ error: LarderError) {
        log("the server has refused a write to \(write.request.path): \(error.message)")
        bury(
            DeadWrite(
                id: id, request: write.request, error: error, writeTime: write.time,
                refusalTime: configuration.clock()))
    }

    /// A request that is not sent twice was lost with its connection.
    func loseRequest(_ place: RequestOutbox.ID) {
        guard case .transactions(let put, _)? = outboxWork.removeValue(forKey: place) else {
            return
        }
        loseTransactions(put)
    }

    /// Ends transactions whose answers were lost, unless a server with their names is there.
    ///
    /// That server tells whether it has made them. Others are not sent again, so that their names
    /// can be forgotten.
    ///
    /// - Parameter namesID: what identifies the server's names; nil for none.
    func loseUnknownRequests(besides namesID: String? = nil) {
        for place in outbox.removeUnknown(besides: namesID) {
            if case .transactions(_, let name)? = outboxWork[place] { answeredWrites.append(name) }
            loseRequest(place)
        }
    }

    /// A request is about to be sent.
    func willSend(_ place: RequestOutbox.ID) {
        guard case .transactions(let put, _)? = outboxWork[place] else { return }
        for id in transactions.sentTransactions(put) { disk.noteSent(id) }
    }
}

// MARK: - Cancelling

extension DatabaseEngine {
    /// Cancels a write, unless it was sent.
    func cancelWrite(_ id: WriteID, _ completion: @escaping Completion<Bool>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        if foreign.contains(id) {
            return completion(
                .failure(
                    LarderError(
                        realtime: .failedPrecondition,
                        "another process of the shared store has made the write; cancel it there")))
        }
        guard let write = withdraw(id) else { return completion(.success(false)) }
        deliver(later: tree.revert(id))
        let error = LarderError(realtime: .cancelled, "Write cancelled by user")
        call(later: {
            write.acknowledged(.failure(error))
            completion(.success(true))
        })
        for path in write.request.paths { dataChanged(at: path) }
    }

    /// Cancels everything of this client that the server has not answered.
    func purgeOutstandingWrites() {
        guard !isTerminated else { return }
        let error = LarderError(realtime: .cancelled, "Write cancelled by user")
        if disk.membership == nil {
            deliver(later: tree.revertAllWrites())
        } else {
            for id in writes.keys.sorted() { deliver(later: tree.revert(id)) }
        }
        let (answers, removed) = outbox.removeAll()
        for answer in answers { receive(answer) }
        for place in removed {
            switch outboxWork.removeValue(forKey: place) {
            case .write(let id):
                guard let write = writes.removeValue(forKey: id) else { continue }
                call(later: { write.acknowledged(.failure(error)) })
            case .disconnect(_, let completion):
                call(later: { completion(.failure(error)) })
            case .transactions, nil: break
            }
        }
        // Those that a write of this turn replaces have no request.
        for write in writes.valuesInOrder { call(later: { write.acknowledged(.failure(error)) }) }
        writes = [:]
        transactions.cancelAll(error, &tree)
        performTransactions()
        outboxChanged()
    }
}

// MARK: - The end of a connection

extension DatabaseEngine {
    /// Records an operation for the end of the connection, after the writes before it.
    func arm(_ operation: DisconnectOperation, _ completion: @escaping Completion<Void>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        if case .merge(_, let values) = operation, values.isEmpty {
            return call(later: { completion(.success(())) })
        }
        if disk.isLocal, case .cancel = operation {
            return call(later: { completion(.success(())) })
        }
        do throws(LarderError) {
            try checkForServer(operation)
        } catch {
            return call(later: { completion(.failure(error)) })
        }
        let place = outbox.add(RequestOutbox.Entry(operation.remoteRequest))
        outboxWork[place] = .disconnect(operation, completion)
    }

    /// The connection has ended: the server performs the recorded operations, whose effect is
    /// shown at once.
    func performDisconnectOperations() {
        let values = disconnects.take(at: serverMilliseconds) { tree.latestNode(at: $0) }
        for value in values {
            deliver(later: tree.serverOverwrite(value.path, value.node))
            overrideTransactions(at: value.path)
        }
    }

    private func disconnectRecorded(_ operation: DisconnectOperation) {
        switch operation {
        case .put(let path, let node): disconnects.remember(path, node)
        case .merge(let path, let values): disconnects.remember(path, values)
        case .cancel(let path): disconnects.forget(path)
        }
    }
}

// MARK: - Requests

extension WriteRequest {
    /// The location of the write.
    package var path: TreePath {
        switch self {
        case .overwrite(let path, _), .merge(let path, _): path
        }
    }

    /// The locations of all nodes that the write replaces.
    var paths: [TreePath] { values.map(\.path) }

    /// The nodes that the write replaces, by their paths from the root.
    package var values: [PathValue] {
        switch self {
        case .overwrite(let path, let node): [PathValue(path, node)]
        case .merge(let path, let values):
            values.map { PathValue(path.appending($0.path), $0.node) }
        }
    }

    var change: PendingWrite.Change {
        switch self {
        case .overwrite(_, let node): .overwrite(node)
        case .merge(_, let values): .merge(values)
        }
    }

    var remoteRequest: RealtimeRequest {
        switch self {
        case .overwrite(let path, let node): .put(path, node, hash: nil)
        case .merge(let path, let values): .merge(path, values)
        }
    }

    init(_ write: PendingWrite) {
        self =
            switch write.change {
            case .overwrite(let node): .overwrite(write.path, node)
            case .merge(let values): .merge(write.path, values)
            }
    }
}

extension DisconnectOperation {
    fileprivate var remoteRequest: RealtimeRequest {
        switch self {
        case .put(let path, let node): .onDisconnectPut(path, node)
        case .merge(let path, let values): .onDisconnectMerge(path, values)
        case .cancel(let path): .onDisconnectCancel(path)
        }
    }
}
