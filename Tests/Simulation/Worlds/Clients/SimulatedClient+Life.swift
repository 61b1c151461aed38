import LarderDocumentStore
import LarderModel
import LarderSync
import SimulationSupport

extension SimulatedClient {
    /// Starts a process on the client's store, unless one runs.
    func open() {
        guard running == nil else { return }
        journal.note("client \(number) opens as '\(user)'")
        do throws(LarderError) {
            let running = try ClientProcess(
                events: events, chance: chance, try configuration,
                willStep: { [weak self] in self?.willStep() },
                didStep: { [weak self] in self?.didStep() })
            self.running = running
            check(try running.client.pendingWrites())
            observe(running)
        } catch {
            journal.fail("client \(number) cannot be opened: \(error)")
        }
    }

    private var configuration: ClientConfiguration {
        get throws(LarderError) {
            var storage = StoreConfiguration(directory: directory)
            storage.durability = .lastCommitAtRisk
            storage.log = { [journal, number] level, message in
                // How much the log still has depends on a thread that no seed determines.
                let text = message.hasPrefix("the store was not closed") ? "a recovery" : message
                journal.note("client \(number) logs \(level): \(text)")
            }
            var configuration = ClientConfiguration(storage: storage, databaseID: databaseID)
            configuration.user = user
            configuration.remote = network
            configuration.makeName = { [chance, number] in
                "\(number)-\(chance.below(.max))"
            }
            if isMarking { configuration.markerCollection = try CollectionPath(World.markers) }
            configuration.maxConcurrentLimboResolutions = chance.pick([1, 2, 100])
            configuration.guarding = { [disk] (operation) throws(LarderError) in
                try disk.begin(operation)
            }
            configuration.clock = { [weak self] in self?.time() ?? .epoch }
            return configuration
        }
    }

    private func observe(_ running: ClientProcess) {
        _ = running.client.observePendingWrites { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let batches): check(batches)
            case .failure(let error): journal.fail("pending writes cannot be read: \(error)")
            }
        }
        _ = running.client.addSnapshotsInSyncListener { [weak self, weak running] in
            running?.isOutOfSync = false
            self?.compareListeners()
        }
    }

    private func willStep() {
        if isToLoseCommit, let client { checkpoint = Checkpoint(of: client, records, directory) }
    }

    private func didStep() {
        journal.expect(
            running?.isOutOfSync != true, "client \(number) does not tell of agreement")
        if let checkpoint, let client {
            self.checkpoint = nil
            if checkpoint.isBehind(client, by: 1) { return loseCommit(since: checkpoint) }
        }
        if faults.happens(.crash) { crash() }
    }

    // MARK: The end of a process

    /// Kills the process between two work items.
    func crash() {
        guard let running else { return }
        journal.note(running.isIdle ? .crash : .crashAtWork, "client \(number)")
        end()
        openLater()
    }

    /// Ends the process with a power failure, which loses the last commit.
    private func loseCommit(since checkpoint: Checkpoint) {
        journal.note(.commitLost, "client \(number)")
        isToLoseCommit = false
        checkpoint.restore(&records)
        end()
        do {
            try checkpoint.restoreFile()
        } catch {
            journal.fail("the world is at fault: \(error)")
        }
        openLater()
    }

    /// Terminates the client and opens it again later.
    func restart() {
        guard let running else { return }
        journal.note(.restart, "client \(number)")
        running.isTerminating = true
        running.client.terminate { [weak self] result in
            guard let self else { return }
            if case .failure(let error) = result { journal.fail("no end: \(error)") }
            // The completion runs in the process that ends.
            events.schedule(after: .zero) {
                self.end()
                self.openLater()
            }
        }
    }

    private func openLater() {
        events.schedule(after: chance.duration(.milliseconds(1)...(.seconds(20)))) { self.open() }
    }

    /// Releases the process with all of its memory.
    func end() {
        for listener in listeners { listener.isOver = true }
        listeners = []
        // A write is committed and completed in one work item.
        records.removeAll { !$0.isInQueue }
        for record in records { record.isOrphan = true }
        running?.kill()
        running = nil
    }
}
