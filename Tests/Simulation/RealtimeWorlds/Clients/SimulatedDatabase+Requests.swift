import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import SimulationSupport

/// Writes, onDisconnect operations and their queue.
extension SimulatedDatabase {
    private func add(_ kind: RequestRecord.Kind) -> RequestRecord {
        let record = RequestRecord(nextOrder(), kind)
        records.append(record)
        queue.append(record)
        journal.note("client \(number) asks for \(record)")
        return record
    }

    /// Makes a write.
    func write(_ request: WriteRequest) {
        guard let client, !repeatsItself(request) else { return }
        let record = add(.write(request))
        client.write(
            request,
            committed: { [weak self] in self?.noteMade(record, $0) },
            acknowledged: { [weak self] in self?.noteSettled(record, $0) })
    }

    /// True if an equal write is among the last writes in the queue, all of which are to its path:
    /// sent requests could not be matched with them.
    private func repeatsItself(_ request: WriteRequest) -> Bool {
        queue.reversed().prefix { $0.write?.path == request.path }
            .contains { $0.write?.isSame(as: request) == true }
    }

    /// Registers an onDisconnect operation.
    func arm(_ operation: DisconnectOperation) {
        guard let client else { return }
        let record = add(.arm(operation))
        client.arm(operation) { [weak self] in self?.noteSettled(record, $0) }
    }

    private func noteMade(_ record: RequestRecord, _ result: Result<WriteID?, LarderError>) {
        switch result {
        case .success(nil): journal.fail("\(record) has no number")
        case .success(let id?):
            (record.state, record.id) = (.pending(id), id)
            journal.expect(!hasUncommitted, "\(record) is made, but not on disk")
        case .failure:
            journal.note(.writeUncommitted)
            journal.expect(
                isDiskFailing || running?.isTerminating == true, "\(record) was not made")
            settle(record, .notMade)
        }
    }

    private func noteSettled(_ record: RequestRecord, _ result: Result<Void, LarderError>) {
        guard record.isOpen else { return journal.fail("\(record) is settled again") }
        switch result {
        case .success:
            journal.expect(
                record.applications > 0 || record.isMerged || record.changesNothing,
                "\(record) was acknowledged, but never applied")
            settle(record, .acknowledged)
            noteAnswered(record.version)
        case .failure(let error) where error.kind == .cancelled:
            // Closing a client keeps its writes in the queue.
            if running?.isTerminating == true {
                record.isOrphan = true
            } else {
                settle(record, .cancelled)
            }
        case .failure(let error):
            journal.expect(record.refusals > 0 || record.isMerged, "\(record) failed: \(error)")
            journal.expect(
                record.refusalsByLocks > 0 || record.isMerged || tokens.hasSignedOut,
                "\(record) failed for want of a token: \(error)")
            settle(record, .rejected(error))
        }
    }

    func settle(_ record: RequestRecord, _ state: RequestRecord.State) {
        record.state = state
        // A replaced write is removed with the commit after that of its replacement.
        record.mayReturn = hasUncommitted || record.isMerged
        queue.removeAll { $0 === record }
        journal.note("client \(number): \(record)")
    }

    /// Cancels one of the pending writes.
    func cancelWrite() {
        let pending = queue.filter(\.isPending)
        guard let client, !pending.isEmpty else { return }
        let record = chance.pick(pending)
        guard let id = record.id else { return }
        record.mayBeAnswered = true
        client.cancelWrite(id) { [weak self] result in
            guard case .success(true) = result else { return }
            self?.journal.note(.writeCancelled, "\(record)")
            if record.isOpen { self?.settle(record, .cancelled) }
        }
    }

    /// Cancels all pending writes and transactions.
    func purge() {
        guard let client else { return }
        journal.note(.purged, "client \(number)")
        for record in queue { record.mayBeAnswered = true }
        client.purgeOutstandingWrites()
    }

    // MARK: Sending

    /// Finds the record of a request that is sent, and checks that requests are sent in order on
    /// each connection.
    func willSend(_ request: RealtimeRequest, _ link: SimulatedLink) -> RequestRecord? {
        let request = request.content
        switch request {
        case .put(_, _, hash: nil), .merge, .onDisconnectPut, .onDisconnectMerge,
            .onDisconnectCancel:
            break
        default: return nil
        }
        for (place, record) in queue.enumerated() where record.order > link.lastOrder {
            if record.matches(request) {
                link.lastOrder = record.order
                record.sendings += 1
                if record.sendings == 2 { journal.note(.sentAgain) }
                return record
            }
            if record.isOrphan, record.mayBeAnswered { continue }
            if record.isMerged || isReplaced(place) {
                noteMerged(record)
                continue
            }
            journal.fail("client \(number) sends \(request.text) before \(record)")
            return nil
        }
        journal.fail("client \(number) sends \(request.text), which no one has asked for")
        return nil
    }

    /// True if the request after a write replaces it.
    private func isReplaced(_ place: Int) -> Bool {
        guard mergesOverwrittenWrites, place + 1 < queue.count,
            case .overwrite(let path, _)? = queue[place].write,
            case .overwrite(let later, _)? = queue[place + 1].write
        else { return false }
        return path == later
    }

    private func noteMerged(_ record: RequestRecord) {
        if !record.isMerged { journal.note(.merged) }
        record.isMerged = true
    }

    // MARK: The queue

    /// Compares the client's queue with the records of its writes.
    func checkQueue(_ writes: [QueuedWrite]) {
        let found = Dictionary(
            uniqueKeysWithValues: writes.filter { !$0.isTransaction }.map { ($0.id, $0) })
        queuedTransactions = writes.filter(\.isTransaction).map(\.request.path)
        journal.expect(
            zip(writes, writes.dropFirst()).allSatisfy { $0.id < $1.id }, "the queue is unordered")
        for (place, record) in queue.enumerated().reversed() where record.isPending {
            guard let id = record.id else { continue }
            if let write = found[id] {
                journal.expect(
                    record.write.map { $0.isSame(as: write.request) } == true,
                    "\(record) is \(write.request.text) in the queue")
            } else if record.isMerged || isReplaced(place) {
                noteMerged(record)
                if record.isOrphan { settle(record, .left) }
            } else {
                journal.expect(
                    record.isOrphan && record.mayBeAnswered,
                    "\(record) has left the queue")
                if record.isOrphan { settle(record, .left) }
            }
        }
        let known = Set(queue.compactMap(\.id))
        for (id, write) in found where !known.contains(id) {
            guard let record = records.last(where: { $0.id == id }), record.mayReturn else {
                journal.fail(
                    "client \(number) has a write in its queue that left it: \(write.request.text)")
                continue
            }
            record.state = .pending(id)
            (record.isOrphan, record.mayReturn) = (true, false)
            queue.append(record)
            queue.sort { $0.order < $1.order }
        }
    }
}

extension RequestRecord {
    /// True if a request to the server carries this record.
    fileprivate func matches(_ request: RealtimeRequest) -> Bool {
        switch (kind, request) {
        case (.write(let write), .put(let path, let node, hash: nil)):
            isPending && write.isSame(as: .overwrite(path, node))
        case (.write(let write), .merge(let path, let values)):
            isPending && write.isSame(as: .merge(path, values))
        case (.arm(.put(let path, let node)), .onDisconnectPut(let sentPath, let sent)):
            path == sentPath && node == sent
        case (.arm(.merge(let path, let values)), .onDisconnectMerge(let sentPath, let sent)):
            path == sentPath && values == sent
        case (.arm(.cancel(let path)), .onDisconnectCancel(let sentPath)): path == sentPath
        default: false
        }
    }

    /// True if the request has no values, so that the server applies nothing.
    fileprivate var changesNothing: Bool {
        switch kind {
        case .write(let request): request.isEmpty
        case .arm(.merge(_, let values)): values.isEmpty
        case .arm: false
        }
    }
}

extension WriteRequest {
    fileprivate func isSame(as other: WriteRequest) -> Bool {
        switch (self, other) {
        case (.overwrite(let path, let node), .overwrite(let otherPath, let otherNode)):
            path == otherPath && node == otherNode
        case (.merge(let path, let values), .merge(let otherPath, let others)):
            path == otherPath && values == others
        default: false
        }
    }
}
