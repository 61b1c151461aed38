import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime

/// A request of the turn, sent after the commit.
struct PlannedRequest {
    let number: Int
    let request: RealtimeRequest
}

extension DatabaseEngine {
    /// Ends a turn: commits its changes, delivers events, and sends pending requests.
    ///
    /// Events of cached data are delivered before last-use times are committed.
    func endTurn() {
        guard !isTerminated else { return }
        let requests = planRequests()
        commitLocalOnly()
        if !disk.commitsBeforeEvents { deliver() }
        do throws(LarderError) {
            try disk.commit()
            forgetEvictedInTime()
            deliver()
            for planned in requests { connection?.send(planned.request, number: planned.number) }
            evictByRules()
        } catch {
            takeBack(requests)
            revertUncommitted(error)
            recover(from: error)
            deliver()
        }
        observeOutbox()
        disk.unpinCache()
    }

    // MARK: Delivering

    /// Adds events to what is delivered after the commit.
    func deliver(later events: [TreeEvent]) {
        for event in events { deliveries.append(.event(event)) }
    }

    /// Adds a call to what is made after the commit.
    func call(later body: @escaping @Sendable () -> Void) {
        deliveries.append(.call(body))
    }

    private func deliver() {
        let deliveries = deliveries
        self.deliveries.removeAll(keepingCapacity: true)
        for delivery in deliveries {
            switch delivery {
            case .call(let body): body()
            case .made(let id, let committed):
                endReplacing(by: id)
                committed(.success(id))
            case .event(let event):
                guard let deliver = listeners[event.listener] else { continue }
                if case .cancelled = event.change { listeners[event.listener] = nil }
                deliver(event)
            }
        }
    }

    // MARK: Committing

    /// The disk has refused the turn: its writes are not applied; what the server has said is
    /// committed later.
    private func revertUncommitted(_ error: LarderError) {
        var made: [(id: WriteID, committed: Completion<WriteID?>)] = []
        deliveries.removeAll { delivery in
            guard case .made(let id, let committed) = delivery else { return false }
            made.append((id, committed))
            return true
        }
        for write in made.reversed() {
            if let retried = withdraw(write.id)?.retried { bury(retried) }
            deliver(later: tree.revert(write.id))
        }
        disk.drop(Set(made.map(\.id)))
        for write in made { call(later: { write.committed(.failure(error)) }) }
    }

    /// Stays away from the network until the disk accepts changes again.
    private func recover(from error: LarderError) {
        log("the store refuses changes, which are tried again: \(error.message)")
        performAll(machine.interrupt(.storeFailure))
        let delay = recoveryBackoff.nextDelay(
            now: scheduler.uptime, jitter: scheduler.random() - 0.5)
        setTimer(.recovery, after: delay) { $0.retryCommit() }
    }

    private func retryCommit() {
        do throws(LarderError) {
            try disk.commit()
            recoveryBackoff.reset()
            performAll(machine.resume(.storeFailure, at: scheduler.uptime))
        } catch {
            recover(from: error)
        }
    }

    // MARK: Requests

    /// The requests that the turn has led to: listens and their ends, then the outbox, then gets.
    private func planRequests() -> [PlannedRequest] {
        var requests: [PlannedRequest] = []
        for effect in tree.takeListenEffects() { perform(effect, &requests) }
        guard machine.isReady else { return requests }
        planListens(&requests)
        while let next = outbox.next(number: newRequestNumber) {
            requests.append(
                PlannedRequest(number: next.number, request: requestToSend(next.sending)))
            willSend(next.sending.id)
        }
        planGets(&requests)
        planBarrier(&requests)
        if let first = requests.first { noteRoundTrip(first.number) }
        return requests
    }

    private func perform(_ effect: SyncTree.ListenEffect, _ requests: inout [PlannedRequest]) {
        switch effect {
        case .listen(let query, let tag):
            serverListens.add(ServerListens.Key(query, tag: tag))
            // One that ends and begins again in one turn keeps its order.
            if machine.isReady { planListens(&requests) }
        case .unlisten(let query, let tag):
            if serverListens.isCurrent(ServerListens.Key(query, tag: tag)) {
                noteConfirmed(query)
            }
            if serverListens.remove(ServerListens.Key(query, tag: tag)), machine.isReady {
                planEnd(of: ServerListens.Key(query, tag: tag), &requests)
                deliverWithheldAnswers()
            }
        }
    }

    private func planEnd(of key: ServerListens.Key, _ requests: inout [PlannedRequest]) {
        let number = newRequestNumber()
        serverListens.sentEnd(of: key, as: number)
        requests.append(
            PlannedRequest(number: number, request: .unlisten(key.query, tag: key.tag)))
    }

    private func planListens(_ requests: inout [PlannedRequest]) {
        for key in serverListens.toRestart { planEnd(of: key, &requests) }
        serverListens.send { key in
            let number = newRequestNumber()
            let hashes = tree.hashes(of: key.query)
            requests.append(
                PlannedRequest(
                    number: number,
                    request: .listen(
                        key.query, tag: key.tag, hash: hashes.hash,
                        compoundHash: hashes.compound)))
            return (number, hashes.hash)
        }
    }

    /// The number of the next request; numbers rise over all connections.
    func newRequestNumber() -> Int {
        lastRequestNumber += 1
        return lastRequestNumber
    }

    /// Returns planned requests to the outbox.
    private func takeBack(_ requests: [PlannedRequest]) {
        for planned in requests { outbox.takeBack(planned.number) }
    }
}
