import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeStore
import LarderRuntime

/// The other clients of the store: their writes are shown, those that end are replaced, and one
/// client keeps the cache for all.
extension DatabaseEngine {
    /// The polling interval for detecting dead clients, whose writes another client then sends.
    private static let lookInterval = Duration.seconds(4)

    /// Takes part in a store that may be shared, or was.
    func startSharing() {
        if !disk.isReader { beginKeeping() }
        guard let membership = disk.membership else { return }
        do throws(LarderError) {
            clientSignal = try membership.listen(on: scheduler) { [weak self] in
                // What has changed is read at the beginning of the turn.
                _ = self?.add(.perform { $0.replaceEndedClients() })
            }
        } catch {
            log("commits of other processes will be seen with a delay: \(error.message)")
        }
        lookAround()
    }

    /// Leaves a shared store.
    func stopSharing() {
        clientSignal = nil
        disk.membership?.leave()
    }

    private func lookAround() {
        guard let store = disk.store, let membership = disk.membership else { return }
        catchUp()
        replaceEndedClients()
        do throws(LarderError) {
            try membership.report(in: store)
        } catch {
            log("other processes cannot be told of this one: \(error.message)")
        }
        setTimer(.clients, after: Self.lookInterval) { $0.lookAround() }
    }

    // MARK: Commits of other clients

    /// Applies what other clients have committed, so that what follows in the turn is based on it.
    func catchUp() {
        do throws(LarderError) {
            try applyNews()
        } catch {
            log("commits of other processes cannot be read: \(error.message)")
        }
    }

    private func applyNews() throws(LarderError) {
        while let news = try disk.news() {
            if !disk.isReader {
                for write in news.accepted { acceptedWrites[write.id] = write }
            }
            if news.isUnknown { compare(with: news) } else { apply(news) }
            if disk.isLocal, news.localPaths?.isEmpty != true { refreshLocal(news.localPaths) }
            if news.isUnknown || news.changes.contains(where: { $0.change.changesCacheRules }) {
                adoptStoredCacheRules()
            }
            if let refused = news.refused {
                disk.setRefused(refused)
                deadObservers.noteChange()
            }
            if !news.hasMore { return }
        }
    }

    private func apply(_ news: StoreNews) {
        for (client, change) in news.changes {
            for id in change.saved { if let write = news.writes[id] { show(write) } }
            for id in change.removed { remove(WriteID(id)) }
            for id in change.accepted { accept(WriteID(id)) }
            for number in change.begunListens {
                if let query = news.listens[client]?[number] { hold(query, number, for: client) }
            }
            for number in change.endedListens { release(number, of: client) }
            for ended in change.endedClients { releaseAll(of: ClientNumber(ended)) }
        }
    }

    /// Compares everything with the store after entries were missed.
    ///
    /// The fate of writes that are gone is unknown.
    private func compare(with news: StoreNews) {
        for write in foreign.all where news.writes[write.id] == nil { remove(WriteID(write.id)) }
        for write in news.writes.valuesInOrder { show(write) }
        for write in news.accepted { accept(write.id) }
        for client in foreignListens.keys where news.listens[client] == nil {
            releaseAll(of: client)
        }
        for (client, listens) in news.listens where client != disk.membership?.number {
            for number in (foreignListens[client] ?? [:]).keys where listens[number] == nil {
                release(number, of: client)
            }
            for (number, query) in listens { hold(query, number, for: client) }
        }
    }

    /// Shows a pending write of another client.
    func show(_ write: StoredWrite) {
        guard disk.membership?.serves(WriteID(write.id)) == false, foreign.save(write) else {
            return
        }
        deliver(
            later: tree.write(
                PendingWrite(foreign: write), isSaved: false, at: serverMilliseconds))
        outboxChanged()
    }

    private func remove(_ id: WriteID) {
        guard foreign.remove(id) else { return }
        deliver(later: tree.removeForeign(id))
        outboxChanged()
    }

    /// The server has accepted a write of another client, whose effect comes over this client's own
    /// connection, if it has one.
    private func accept(_ id: WriteID) {
        guard foreign.contains(id) || acceptedWrites[id] != nil else { return }
        outboxChanged()
        foreign.settle(id)
        if !machine.isReady { loseBarriers() }
    }

    /// Sends a request after whose answer the effect of accepted writes is known.
    func planBarrier(_ requests: inout [PlannedRequest]) {
        guard foreign.needsBarrier else { return }
        let number = newRequestNumber()
        foreign.barrierSent(number)
        requests.append(PlannedRequest(number: number, request: .statistics([:])))
    }

    /// The server has answered; false if the number is of no barrier.
    func receiveBarrier(_ number: Int) -> Bool {
        guard let settled = foreign.answered(number) else { return false }
        for id in settled {
            deliver(later: tree.removeForeign(id))
            storeForeign(id)
        }
        return true
    }

    /// The connection has ended: what is accepted is all that is known.
    func loseBarriers() {
        for id in foreign.disconnect() {
            deliver(later: tree.acceptForeign(id))
            storeForeign(id)
        }
    }

    private func storeForeign(_ id: WriteID) {
        if let write = acceptedWrites.removeValue(forKey: id) { tree.storeForeign(write) }
    }

    // MARK: Clients that end

    /// Takes the places of clients that have ended: sends their writes, and keeps the cache.
    func replaceEndedClients() {
        guard !isTerminated, let store = disk.store, let membership = disk.membership else {
            return
        }
        do throws(LarderError) {
            for ended in try membership.otherClients(in: store).ended {
                guard membership.beginReplacing(ended) else { continue }
                defer { membership.endReplacing(ended) }
                // The last commits of a client that cannot make any more.
                try applyNews()
                try disk.readWriteNames()
                guard let served = try membership.replace(ended, in: store) else { continue }
                hasNamedFormer = false
                adopt(served)
                releaseAll(of: ended)
            }
            if let tracked = try disk.takeCache(now: tree.now) { keepCache(tracked) }
        } catch {
            log("a process that has ended cannot be replaced yet: \(error.message)")
        }
    }

    /// Sends the writes of clients that have ended: before this client's later ones, whose makers
    /// saw them, unless those were sent already.
    private func adopt(_ clients: Set<ClientNumber>) {
        guard let membership = disk.membership else { return }
        var adopted = foreign.take { clients.contains(membership.owner(of: $0)) }[...]
        guard let first = adopted.first else { return }
        for (place, entry) in takeUnsent(after: WriteID(first.id)) {
            if case .write(let id)? = outboxWork[place] {
                while let next = adopted.first, next.id < id.rawValue {
                    adopt(next)
                    adopted.removeFirst()
                }
            }
            enqueue(entry, from: place)
        }
        for write in adopted { adopt(write) }
        awaitTransactionHandlers()
        outboxChanged()
    }

    private func adopt(_ write: StoredWrite) {
        switch disk.work(saved: write) {
        case .write(let write, let time):
            deliver(later: tree.write(write, isSaved: false, at: serverMilliseconds))
            enqueue(write.id, WriteRequest(write), time) { _ in }
        case .transaction(let transaction, let time, let wasSent):
            if wasSent { deliver(later: tree.removeForeign(WriteID(write.id))) }
            restore(transaction, time, wasSent: wasSent)
        }
    }

    // MARK: The cache

    private func keepCache(_ tracked: TrackedQueries) {
        adoptStoredCacheRules()
        tree.keepCache(tracked)
        for write in disk.takePassed() { tree.storeForeign(write) }
        for get in gets.valuesInOrder { tree.getBegan(get.query) }
        beginKeeping()
    }

    /// Keeps the data of other clients' listens up to date in the cache, and stores the results of
    /// their writes.
    private func beginKeeping() {
        do throws(LarderError) {
            for (client, listens) in try disk.foreignListens().sorted(by: { $0.key < $1.key }) {
                for (number, query) in listens { hold(query, number, for: client) }
            }
            for write in try disk.acceptedWrites() {
                acceptedWrites[write.id] = write
                accept(write.id)
            }
        } catch {
            log("what other processes have left for the cache cannot be read: \(error.message)")
        }
    }

    private func hold(_ query: QuerySpec, _ number: Int64, for client: ClientNumber) {
        guard !disk.isReader, foreignListens[client]?[number] == nil else { return }
        foreignListens[client, default: [:]][number] = query
        forgetEvicted()
        do throws(LarderError) {
            try tree.hold(query, for: .client(client))
        } catch {
            log("\(query.path) cannot be kept for another process: \(error.message)")
        }
    }

    private func release(_ number: Int64, of client: ClientNumber) {
        guard let query = foreignListens[client]?.removeValue(forKey: number) else { return }
        tree.release(query, for: .client(client))
    }

    private func releaseAll(of client: ClientNumber) {
        for number in (foreignListens[client] ?? [:]).keys { release(number, of: client) }
        foreignListens[client] = nil
    }

    /// Reads the cache that another client keeps from one commit until the end of the turn.
    func readCache() {
        guard let client = disk.membership?.number else { return }
        do throws(LarderError) {
            guard let queries = try disk.pinCache() else { return }
            tree.stored?.read(TrackedQueries(reading: queries, client: client))
        } catch {
            tree.stored?.read(TrackedQueries(reading: [], client: client))
            log("the cache that another process keeps cannot be read: \(error.message)")
        }
    }
}
