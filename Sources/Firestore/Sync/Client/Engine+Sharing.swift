import LarderDocumentStore
import LarderModel

extension Engine {
    /// Whether the client uses the network: for itself, or for all that share its store.
    var isPrimary: Bool { membership?.isPrimary ?? true }

    /// Takes part in a store that is shared.
    func startSharing() {
        guard let membership else { return }
        do throws(LarderError) {
            self.membership?.signal = try membership.journal.signal.listen(
                as: membership.journal.clientID, on: scheduler
            ) { [weak self] in
                _ = self?.add(.perform { $0.share(.hear) })
            }
        } catch {
            log("commits of other clients will be heard of seconds later: \(error)")
        }
        if let arrival { look(at: arrival) }
        share(.hear)
    }

    /// Takes leave of the other clients.
    func stopSharing() {
        guard let membership else { return }
        do throws(LarderError) {
            try membership.journal.leave(store)
        } catch {
            // The others find out when they have not heard of it for long.
            log("other clients do not know that this one has ended: \(error)")
        }
        for completion in membership.cancellations.valuesInOrder.flatMap(\.completions) {
            completion(.failure(Client.terminated))
        }
        self.membership = nil
    }

    /// Does something about others, now or when the disk lets it; once at a time.
    func share(_ task: Membership.Task) {
        guard !isTerminated, membership?.tasks.insert(task).inserted == true else { return }
        let work = StoreWork(cause: []) { (engine) throws(LarderError) in
            do throws(LarderError) {
                try engine.run(task)
            } catch {
                guard error.isLeaseLost else { throw error }
                // What is left of it is not for the primary.
                engine.loseLease()
                try engine.run(task)
            }
            engine.membership?.tasks.remove(task)
        }
        do throws(LarderError) {
            try work.body(self)
        } catch {
            recover(from: error, work)
        }
    }

    private func run(_ task: Membership.Task) throws(LarderError) {
        switch task {
        case .hear: try hear()
        case .tell: try tell()
        case .becomePrimary: try becomePrimary()
        case .resync: try resync()
        }
    }

    // MARK: What others are told

    /// Notes that a target may be wanted now, or no longer.
    func noteTarget(_ id: Int32) {
        membership?.changedTargets.insert(id)
    }

    /// Tells others what no commit has told them.
    func tellOthers() {
        guard let membership else { return }
        for id in membership.changedTargets {
            let isWanted = isWantedHere(id)
            guard isWanted != membership.ownTargets.contains(id) else { continue }
            if isWanted {
                self.membership?.ownTargets.insert(id)
                self.membership?.unsent.begunTargets.insert(id)
            } else {
                endOwnTarget(id)
            }
        }
        self.membership?.changedTargets = []
        if self.membership?.unsent.isEmpty == false { share(.tell) }
    }

    /// The client does not want to hear of a target, even if it will at once again.
    func endOwnTarget(_ id: Int32) {
        guard membership?.ownTargets.remove(id) != nil else { return }
        if membership?.unsent.begunTargets.remove(id) == nil {
            membership?.unsent.endedTargets.insert(id)
        }
    }

    private func tell() throws(LarderError) {
        guard let membership, !membership.unsent.isEmpty else { return }
        var news = membership.unsent
        if news.cancellations.isEmpty { news.user = session.user }
        try membership.journal.post(
            news, of: membership.row(at: scheduler.uptime), in: store)
        self.membership?.unsent = StoreNews()
    }
}
