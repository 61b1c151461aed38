import LarderRealtimeModel
import LarderRealtimeSync
import LarderStorage
import SimulationSupport

extension SimulatedDatabase {
    /// Starts a process on the client's store, unless one runs.
    func open() {
        guard running == nil else { return }
        journal.note("client \(number) opens")
        do throws(LarderError) {
            let running = try DatabaseProcess(
                events: events, chance: chance, configuration,
                didStep: { [weak self] in self?.didStep() })
            self.running = running
            _ = running.client.observePendingWrites { [weak self] in self?.checkQueue($0) }
            for path in transactionPaths where chance.oneIn(2) { resume(at: path) }
        } catch {
            journal.fail("client \(number) cannot be opened: \(error)")
        }
    }

    private func didStep() {
        for listener in listeners where listener.isTouched {
            listener.isTouched = false
            listener.endStep()
            compare(listener)
        }
        listeners.removeAll(where: \.isCancelled)
        if faults.happens(.crash) { crash() }
    }

    // MARK: The end of a process

    /// Kills the process between two of its work items.
    func crash() {
        guard let running else { return }
        journal.note(running.isIdle ? .crash : .crashAtWork, "client \(number)")
        end()
        openLater()
    }

    /// Closes the client and opens it again later.
    func restart() {
        guard let running, !running.isTerminating else { return }
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

    /// Kills the process and drops its listeners and completions.
    func end() {
        for listener in listeners { listener.isOver = true }
        listeners = []
        keptQueries = []
        for record in queue {
            record.isOrphan = true
            // A write is committed and completed in one work item.
            if !record.isPending { record.state = record.write == nil ? .left : .notMade }
        }
        queue.removeAll { !$0.isPending }
        for transaction in transactions.values { transaction.isOrphan = true }
        running?.kill()
        running = nil
        // The connection ends with the process.
        for link in network.links { link.close() }
    }

    /// Checks that the store is undamaged.
    func checkStore() throws(LarderError) {
        end()
        var configuration = StoreConfiguration(directory: directory)
        configuration.durability = .lastCommitAtRisk
        let store = try Store(configuration)
        let report = try store.check { problem in
            self.journal.fail("client \(self.number)'s store: \(problem)")
            return .continue
        }
        journal.expect(report.isClean, "client \(number)'s store is damaged")
        try store.close()
    }
}
