import LarderDocumentStore
import LarderModel

extension Engine {
    /// Says that the client is still there, and takes, renews or gives up the lease of the
    /// network.
    ///
    /// - Parameter isForced: whether it takes the lease whoever has it.
    func renewLease(isForced: Bool = false) {
        guard let membership else { return }
        do throws(LarderError) {
            try localStore.begin(.renewLease)
            let renewed = try membership.journal.renew(
                membership.row(at: scheduler.uptime), at: { scheduler.uptime },
                isForced: isForced, in: store)
            if !renewed.hadLease { losePrimary() }
            look(at: renewed)
            // A signal may have been lost.
            share(.hear)
        } catch {
            // What the client does for all asks for the lease itself.
            log("the lease of the network could not be renewed: \(error)")
            schedule(.lease, after: Lease.renewal)
        }
    }

    /// Takes what the client has found when it came, or looked again.
    func look(at found: ClientLook) {
        schedule(.lease, after: found.nextLook)
        membership?.hasLease = found.hasLease
        if !found.hasLease { losePrimary() }
        if !isPrimary {
            if let network = found.network { apply(network) }
            if found.hasLease { share(.becomePrimary) }
        }
        forget(found.lostClients)
        evictSurplus()
    }

    /// Another client has the network, as a transaction has found out.
    func loseLease() {
        losePrimary()
        if membership != nil { schedule(.lease, after: .zero) }
    }

    /// Uses the network for all clients from now on.
    ///
    /// What the former primary told is taken in first. The targets that anybody wants are asked
    /// for from where the store is.
    func becomePrimary() throws(LarderError) {
        guard let membership, membership.hasLease, !membership.isPrimary else { return }
        try hear()
        let (clients, commit) = try store.read { (transaction) throws(LarderError) in
            (try transaction.clients(), transaction.commitNumber)
        }
        let others = TargetRegistry(clients.filter { $0.id != membership.journal.clientID })
        let known = targets.data.valuesInOrder.map(\.target)
        let fresh = try known.isEmpty ? [] : localStore.allocateTargets(known)
        let missing = try findTargets(others.all.filter { targets[$0] == nil })
        try store.write { (transaction) throws(LarderError) in
            try transaction.removeCurrentTargets(except: others.all.union(targets.data.keys))
        }

        targets.update(Dictionary(fresh.map { ($0.id, $0) }) { $1 })
        self.membership?.isPrimary = true
        self.membership?.others = others
        self.membership?.othersCommit = commit
        self.membership?.unsent.takesLease = true
        views.forgetLimbo()
        remoteStore.enableNetwork(reason: .notPrimary)
        for id in targets.data.keys.sorted() where targets[id]?.isRemote == true || isWanted(id) {
            targets.setRemote(id, true)
            listen(to: id)
        }
        for data in missing { keepView(of: data) }
        cancelOwnWrites()
    }

    /// Lets another client use the network.
    func losePrimary() {
        guard let membership, membership.isPrimary else { return }
        self.membership?.isPrimary = false
        self.membership?.hasLease = false
        self.membership?.others = TargetRegistry()
        self.membership?.unsent.forgetWhatPrimariesTell()
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
        guard membership.hasPassedOver else { return }
        self.membership?.hasPassedOver = false
        share(.resync)
    }

    /// Forgets clients that have ended without a word.
    private func forget(_ clients: [String]) {
        for client in clients {
            attempt([]) { (engine) throws(LarderError) in
                let ended = engine.membership?.others.targets(of: client) ?? []
                try engine.release(ended, of: client)
            }
        }
    }

    /// Evicts what is more than the budget: the primary knows which targets are in use.
    private func evictSurplus() {
        guard let membership, membership.isPrimary, membership.evicts else { return }
        do throws(LarderError) {
            guard try store.evict().hasMore else { return }
        } catch {
            log("cannot evict documents: \(error)")
            return
        }
        _ = add(.perform { $0.evictSurplus() })
    }
}
