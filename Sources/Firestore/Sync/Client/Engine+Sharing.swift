import LarderDocumentStore
import LarderModel
import OrderedCollections

/// Performs the effects and tasks of ``MultiClient``.
extension Engine {
    /// Takes part in a shared store.
    func startSharing() {
        guard let journal = multiClient?.journal else { return }
        do throws(LarderError) {
            watch = try journal.signal.listen(as: journal.clientID, on: scheduler) {
                [weak self] in
                _ = self?.add(.perform { $0.run(.applyChanges) })
            }
        } catch {
            log("commits of other clients will be heard of seconds later: \(error)")
        }
        perform(multiClient?.start())
        run(.applyChanges)
    }

    /// Leaves a shared store.
    func stopSharing() {
        guard var multiClient else { return }
        do throws(LarderError) {
            try multiClient.journal.leave(store)
        } catch {
            // The others find out when its row has become old.
            log("other clients do not know that this one has ended: \(error)")
        }
        for (_, cancelled) in multiClient.takeCancellations() {
            for completion in cancelled.completions { completion(.failure(Client.terminated)) }
        }
        self.multiClient = nil
    }

    func perform(_ effects: [MultiClient.Effect]?) {
        for effect in effects ?? [] {
            switch effect {
            case .renewLease(let delay):
                if multiClient != nil { schedule(.lease, after: delay) }
            case .run(let task): run(task)
            case .releaseNetwork: releaseNetwork()
            case .show(let network): show(network)
            case .forget(let client):
                attempt([]) { (engine) throws(LarderError) in
                    let ended = engine.multiClient?.others.targets(of: client) ?? []
                    try engine.release(ended, of: client)
                }
            case .evictSurplus: evictSurplus()
            }
        }
    }

    // MARK: Tasks

    /// Runs a task, now or when the disk permits it.
    private func run(_ task: MultiClient.Task) {
        guard !isTerminated, multiClient?.begin(task) == true else { return }
        let work = StoreWork(cause: []) { (engine) throws(LarderError) in
            do throws(LarderError) {
                try engine.perform(task)
            } catch {
                guard error.isLeaseLost else { throw error }
                // The rest of it is not for the primary.
                engine.perform(engine.multiClient?.lostLease())
                try engine.perform(task)
            }
            engine.multiClient?.end(task)
        }
        do throws(LarderError) {
            try work.body(self)
        } catch {
            recover(from: error, work)
        }
    }

    private func perform(_ task: MultiClient.Task) throws(LarderError) {
        switch task {
        case .applyChanges: try applyOtherClientsChanges()
        case .publish: try publish()
        case .becomePrimary: try becomePrimary()
        case .resync: try resync()
        }
    }

    /// Publishes changes for the other clients that go with no commit.
    func publishChanges() {
        perform(multiClient?.collectTargets { isWantedHere($0) })
    }

    private func publish() throws(LarderError) {
        guard let multiClient, !multiClient.unsent.isEmpty else { return }
        var change = multiClient.unsent
        if change.cancellations.isEmpty { change.user = session.user }
        try multiClient.journal.post(
            change, of: multiClient.row(at: scheduler.uptime), in: store)
        self.multiClient?.unsent = SharedChange()
    }

    // MARK: The lease

    /// Renews the client's row, and takes, renews or gives up the lease of the network.
    ///
    /// - Parameter isForced: whether it takes the lease from another client.
    func renewLease(isForced: Bool = false) {
        guard let multiClient else { return }
        do throws(LarderError) {
            try localStore.begin(.renewLease)
            let scan = try multiClient.journal.renew(
                multiClient.row(at: scheduler.uptime), at: { scheduler.uptime },
                isForced: isForced, in: store)
            perform(self.multiClient?.found(scan))
            // A signal may have been lost.
            run(.applyChanges)
        } catch {
            // Work for all clients checks the lease itself.
            log("the lease of the network could not be renewed: \(error)")
            schedule(.lease, after: Lease.renewal)
        }
    }

    /// Uses the network for all clients from now on.
    ///
    /// The former primary's changes are applied first. The targets of all clients are listened to
    /// from the store's state.
    private func becomePrimary() throws(LarderError) {
        guard let clientID = multiClient?.journal.clientID, multiClient?.role == .owner else {
            return
        }
        try applyOtherClientsChanges()
        let (clients, commit) = try store.read { (transaction) throws(LarderError) in
            (try transaction.clients(), transaction.commitNumber)
        }
        let others = TargetRegistry(clients.filter { $0.id != clientID })
        let known = targets.data.valuesInOrder.map(\.target)
        let fresh = try known.isEmpty ? [] : localStore.allocateTargets(known)
        let missing = try findTargets(others.all.filter { targets[$0] == nil })
        try store.write { (transaction) throws(LarderError) in
            try transaction.removeCurrentTargets(except: others.all.union(targets.data.keys))
        }

        targets.update(Dictionary(fresh.map { ($0.id, $0) }) { $1 })
        multiClient?.becamePrimary(others, at: commit)
        views.forgetLimbo()
        remoteStore.enableNetwork(reason: .notPrimary)
        for id in targets.data.keys.sorted() where targets[id]?.isRemote == true || isWanted(id) {
            targets.setRemote(id, true)
            listen(to: id)
        }
        for data in missing { keepView(of: data) }
        let requests = multiClient?.takeCancellations() ?? []
        for (user, requests) in OrderedDictionary(grouping: requests, by: \.cancellation.user) {
            let result = Result { () throws(LarderError) in
                try cancel(requests.map(\.id), of: user)
            }
            for (id, cancellation) in requests {
                for completion in cancellation.completions {
                    completion(result.map { $0.contains(id) })
                }
            }
        }
    }

    private func releaseNetwork() {
        remoteStore.disableNetwork(reason: .notPrimary)
        for id in limbo.active.values { remoteStore.unlisten(id) }
        limbo.removeAll()
        for id in targets.data.keys.sorted() {
            remoteStore.unlisten(id)
            targets.setRemote(id, isWantedHere(id))
            for view in targets.views(of: id) where !views.hasListeners(view) {
                finish(views.endView(view))
            }
        }
    }

    /// Evicts documents beyond the budget: the primary knows which targets are in use.
    private func evictSurplus() {
        adoptStoredCacheRules()
        guard let multiClient, multiClient.isPrimary, multiClient.evicts else { return }
        do throws(LarderError) {
            guard try store.evict().hasMore else { return }
        } catch {
            log("cannot evict documents: \(error)")
            return
        }
        _ = add(.perform { $0.evictSurplus() })
    }
}
