import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport

/// What steps do to a client.
extension SpecClient {
    /// Carries out an action and what follows from it at once.
    func perform(_ action: SpecAction) throws {
        switch action {
        case .restart:
            try stop()
            try start()
        case .shutdown: try stop()
        case .clearPersistence: try world.clear()
        case .failDatabase(let names): failingTransactions = names
        case .answerListen: throw SpecRunError(message: "targets are not numbered again here")
        case .watch(let responses): try watch(responses)
        case .closeWatchStream(let error, let runsBackoff):
            remote.failWatchStream(error)
            scheduler.drain()
            if runsBackoff, !listeners.isEmpty {
                scheduler.fire(upTo: .watchStreamBackoff)
                openWatchStream()
            }
        case .acknowledgeWrite(let version, let keepsWrite):
            remote.commit(try nextWrite(keeping: keepsWrite), at: version)
        case .failWrite(let error, let keepsWrite):
            _ = try nextWrite(keeping: keepsWrite)
            remote.failWriteStream(error)
        case .drainQueue: break
        case .runTimer(let name): scheduler.fire(upTo: EngineTimer(rawValue: name))
        default:
            guard let client else { throw SpecRunError(message: "the client does not run") }
            try perform(action, on: client)
        }
        scheduler.drain()
    }

    /// Carries out what a user asks of a client.
    private func perform(_ action: SpecAction, on client: Client) throws {
        let log = log
        switch action {
        case .listen(let query, let options, _): listen(to: query, options, on: client)
        case .unlisten(let query):
            guard let listener = listeners.removeValue(forKey: query) else {
                throw SpecRunError(message: "no listener of \(query.canonicalText)")
            }
            listener.remove()
        case .write(let mutations): write(mutations, on: client)
        case .addSnapshotsInSyncListener:
            snapshotsInSyncListeners.append(
                client.addSnapshotsInSyncListener { log.noteSnapshotsInSync() })
        case .removeSnapshotsInSyncListener:
            guard let listener = snapshotsInSyncListeners.popLast() else {
                throw SpecRunError(message: "no listener of snapshots in sync")
            }
            listener.remove()
        case .waitForPendingWrites: client.waitForPendingWrites { log.notePendingWrites($0) }
        case .loadBundle(let text):
            // Whether it could be loaded is seen from what follows.
            client.loadBundle(
                from: SpecBundle(text), progress: { _ in }, completion: { _ in })
        case .configureIndexes(let json):
            let configuration = try IndexConfiguration(json: json)
            try scheduler.wait { client.configureIndexes(configuration, completion: $0) }
        case .enableNetwork(let isEnabled):
            isNetworkEnabled = isEnabled
            // Before the network goes, all that waits is sent.
            scheduler.drain()
            try scheduler.wait {
                isEnabled ? client.enableNetwork($0) : client.disableNetwork($0)
            }
        case .setVisible(let isVisible):
            isForeground = isVisible
            client.setForeground(isVisible)
        case .becomePrimary: try scheduler.wait { client.takeLease($0) }
        case .changeUser(let id):
            user = UserID(id)
            client.setUser(user)
        case .collectGarbage(let threshold):
            guard !world.collectsEagerly else { return }
            try scheduler.wait { client.collectGarbage(threshold: threshold, completion: $0) }
        default: break
        }
    }

    private func listen(to query: Query, _ options: ListenOptions, on client: Client) {
        let log = log
        listeners[query] = client.listen(to: query, options: options) {
            log.note(ListenerEvent(query, $0))
        }
        scheduler.drain()
        guard listeners[query] != nil else { return }
        if scheduler.timers.contains(where: { $0.timer == .watchStreamBackoff }) {
            scheduler.fire(upTo: .watchStreamBackoff)
        }
    }

    private func write(_ mutations: [Mutation], on client: Client) {
        let log = log
        if !failingTransactions.contains(LocalOperation.writeMutations.rawValue) {
            world.outstandingWrites.append(mutations)
        }
        client.write(
            mutations,
            committed: { result in
                if case .failure(let error) = result { log.note(mutations, .failure(error)) }
            }, acknowledged: { log.note(mutations, $0) })
    }

    private func watch(_ responses: [WatchResponse]) throws {
        for response in responses {
            if case .targets(let change) = response, case .removed(_?) = change.kind,
                !world.test.configuration.allowsRemovalOfUnlisted
            {
                let active = remote.asked.activeTargets
                for id in change.targetIDs where active[id] == nil {
                    throw SpecRunError(message: "target \(id), which ends, is not watched")
                }
            }
            // A client that has lost the network to another one has closed its stream; what is on
            // its way then still comes.
            let isLate = !remote.isWatchStreamOpen && inspect()?.isPrimary == false
            isLate ? remote.sayLate(response) : remote.say(response)
            scheduler.drain()
        }
    }

    /// The oldest outstanding write, which must be the one that was sent next.
    private func nextWrite(keeping: Bool) throws -> [Mutation] {
        guard let expected = world.outstandingWrites.first else {
            throw SpecRunError(message: "no write is outstanding")
        }
        if !keeping { world.outstandingWrites.removeFirst() }
        var sent = remote.takeSentWrite()
        while sent == nil, scheduler.fire(.writeStreamBackoff) { sent = remote.takeSentWrite() }
        guard sent == expected else {
            throw SpecRunError(
                message: "the write sent next: expected \(expected); actual \(sent ?? [])")
        }
        return expected
    }
}
