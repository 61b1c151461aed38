import HashTreeCollections
import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderRemote
import OrderedCollections

/// The streams to the backend that are open.
struct OpenStreams {
    /// The maximum number of responses of the watch stream on their way.
    private static let watchDemand = 1_000

    var watch: (any WatchStream)?
    var write: (any WriteStream)?
    /// The generation of the write stream.
    var writeGeneration = 0
    /// Responses of the watch stream that were served since more were requested.
    private var servedCount = 0

    mutating func open(_ stream: (any WatchStream)?) {
        servedCount = 0
        watch = stream
        watch?.demand(Self.watchDemand)
    }

    mutating func noteServed() {
        servedCount += 1
        guard servedCount == Self.watchDemand / 2 else { return }
        watch?.demand(servedCount)
        servedCount = 0
    }

    mutating func closeWatch() {
        watch?.close()
        watch = nil
    }

    mutating func closeWrite() {
        write?.close()
        write = nil
    }
}

extension Engine {
    var credentials: Credentials { Credentials(userID: session.user.string) }

    /// Performs an effect of the remote store.
    func perform(_ effect: RemoteStore.Effect) {
        switch effect {
        case .openWatchStream(let generation):
            streams.closeWatch()
            streams.open(
                remote?.openWatchStream(as: credentials) { [weak self] event in
                    _ = self?.add(.watchStream(event, generation: generation))
                })
        case .closeWatchStream: streams.closeWatch()
        case .sendWatch(let request):
            if case .add(let target) = request { noteRequested(target.id) }
            streams.watch?.send(request)
        case .openWriteStream(let generation):
            streams.closeWrite()
            streams.writeGeneration = generation
            markedWrites?.open(as: session.user.string)
            streams.write = remote?.openWriteStream(as: credentials) { [weak self] event in
                _ = self?.add(.writeStream(event, generation: generation))
            }
        case .closeWriteStream:
            streams.closeWrite()
            markedWrites?.close()
        case .sendWrite(let request):
            guard let actions = markedWrites?.send(request) else {
                streams.write?.send(request)
                return
            }
            perform(actions)
        case .schedule(let timer, let delay): schedule(timer, after: delay)
        case .cancel(let timer): timers.removeValue(forKey: timer)?()
        case .invalidateToken: remote?.invalidateToken()
        case .onlineState(let state): applyOwn(state)
        case .apply(let event): apply(event)
        case .rejectTarget(let id, let error): reject(id, error)
        case .acknowledge(let batchID, let response):
            var commits = [(batchID: batchID, response: response)]
            acknowledge(&commits)
        case .reject(let batchID, let error): reject(batchID: batchID, error)
        case .attemptFailed(let batchID, let error, let wasSent):
            noteAttempt(batchID, error, wasSent: wasSent)
        case .wantsWrites(let batchID, let count): sendWrites(after: batchID, count)
        case .warn(let message): log(message)
        }
    }

    /// Handles an event of a watch stream; those of former streams are dropped.
    func receive(_ event: WatchEvent, _ generation: Int, precedesSnapshot: Bool) {
        guard remoteStore.watchStream.isCurrent(generation) else { return }
        do throws(LarderError) {
            if case .opened = event { remoteStore.lastToken = try localStore.lastToken() }
            if event.snapshotVersion != nil {
                remoteStore.lastSnapshotVersion = try localStore.lastRemoteSnapshotVersion()
            }
            remoteStore.handle(
                event, generation: generation, precedesSnapshot: precedesSnapshot
            ) { [self] in remoteKeys(of: $0) }
        } catch {
            recover(from: error)
        }
        if case .response = event { streams.noteServed() }
    }

    /// Handles an event of a write stream; those of former streams are dropped.
    func receive(_ event: WriteEvent, _ generation: Int) {
        guard remoteStore.writeStream.isCurrent(generation) else { return }
        guard let actions = markedWrites?.receive(event) else {
            return deliver(event, generation)
        }
        perform(actions)
    }

    /// Reports an event of the write stream; an answered handshake once this process is in the store.
    private func deliver(_ event: WriteEvent, _ generation: Int) {
        do throws(LarderError) {
            if case .handshake(_, keepsNames: true) = event {
                try remoteStore.names?.noteWriter(in: localStore)
            }
            remoteStore.handle(event, generation: generation)
        } catch {
            recover(from: error)
        }
    }

    /// Performs the actions of marked writes on the present write stream.
    private func perform(_ actions: [MarkedWrites.Action]) {
        let generation = streams.writeGeneration
        for action in actions {
            switch action {
            case .send(let request): streams.write?.send(request)
            case .deliver(let event): deliver(event, generation)
            case .close: streams.closeWrite()
            case .read(let paths):
                remote?.read(paths, as: credentials) { [weak self] result in
                    _ = self?.add(.perform { $0.received(result, generation) })
                }
            }
        }
    }

    /// Handles documents that were read for marked writes.
    ///
    /// The lease is checked after the marker was read: if another client has written since, the
    /// marker's version refuses the next write.
    private func received(_ result: Result<[DocumentReading], LarderError>, _ generation: Int) {
        guard remoteStore.writeStream.isCurrent(generation) else { return }
        do throws(LarderError) {
            try localStore.requireLease()
        } catch {
            return recover(from: error)
        }
        if let actions = markedWrites?.received(result) { perform(actions) }
    }

    /// Ends every stream and timer for good.
    func endNetwork() {
        remoteStore.shutdown()
        pump()
        for cancel in timers.values { cancel() }
        timers = [:]
        streams.closeWatch()
        streams.closeWrite()
    }

    // MARK: Timers

    /// Sets a timer, replacing the one that is set.
    func schedule(_ timer: EngineTimer, after delay: Duration) {
        timers.removeValue(forKey: timer)?()
        timers[timer] = scheduler.schedule(timer, after: delay) { [weak self] in
            self?.assumeIsolated { $0.fire(timer) }
        }
    }

    private func fire(_ timer: EngineTimer) {
        guard timers.removeValue(forKey: timer) != nil, !isTerminated else { return }
        remoteStore.now = scheduler.uptime
        switch timer {
        case .recovery: retryRefusedWork()
        case .following: catchUp(nextDelay: follower.delay)
        case .lease: renewLease()
        case .cacheRules: checkCacheAges()
        default: remoteStore.fire(timer)
        }
        endStep()
    }

    // MARK: Snapshots

    /// Applies a snapshot of the backend to the store, then to the views.
    func apply(_ event: RemoteEvent) {
        do throws(LarderError) {
            try applied(event)
        } catch {
            recover(from: error)
            // The targets resume from the store's state, so that the backend sends it again.
            for id in event.targets.keys { listenAgain(id) }
        }
    }

    private func applied(_ event: RemoteEvent) throws(LarderError) {
        let applied = try localStore.apply(event, to: targets.data)
        refusedWork.backoff.reset()
        targets.replaceAll(applied.targets)
        limbo.update(by: event.targets)
        views.note(event.version)
        var changes: [ViewID: View.TargetChange] = [:]
        changes.reserveCapacity(event.targets.count)
        for (id, change) in event.targets {
            let index = applied.targets.index(forKey: id)
            let version = index.map { applied.targets.values[$0].snapshotVersion }
            for view in targets.views(of: id) {
                if multiClient != nil, !views.isLoaded(view) { multiClient?.markStale(view) }
                changes[view] = View.TargetChange(
                    added: Array(change.added), removed: Array(change.removed),
                    isCurrent: change.isCurrent, hasResumeToken: !change.resumeToken.isEmpty,
                    readTime: version ?? .none)
            }
        }
        let resets = event.mismatches.keys.flatMap { targets.views(of: $0) }
        finish(
            views.apply(
                applied.changes, targets: changes, pendingResets: Set(resets), refill: refill))
        let changed = event.targets.filter { id, change in
            change.hasDocuments || targets.data[id]?.limboFreeVersion.isNone == true
        }
        noteSynced(changed.keys)
        collect()
    }

    /// Handles the refusal of a target; the target of a query ends with its views.
    private func reject(_ id: Int32, _ error: LarderError) {
        if let path = limbo.path(of: id) { return rejectLimbo(id, path) }
        guard let entry = targets[id] else { return }
        targets.setRemote(id, false)
        multiClient?.rejected(id, error)
        for view in entry.views { finish(views.fail(view, error)) }
    }

    /// A document in limbo that may not be read counts as deleted, unless the backend has it in
    /// another target: views that have it in limbo then keep showing it from the cache.
    private func rejectLimbo(_ id: Int32, _ path: DocumentPath) {
        if views.isVouchedFor(path) {
            limbo.reject(id)
            return resolveLimbo()
        }
        let gone = DocumentReading(path: path, contents: .absent, version: .none)
        let event = RemoteEvent(
            version: .none, documents: [path: gone], resolvedLimboDocuments: [path])
        do throws(LarderError) {
            try applied(event)
        } catch {
            // Requested, and rejected, once more when the store works.
            recover(from: error)
            listenAgain(id)
            return
        }
        limbo.reject(id)
        resolveLimbo()
    }
}

extension WatchEvent {
    /// The version of the snapshot of all targets that it ends; nil if it ends none.
    fileprivate var snapshotVersion: SnapshotVersion? {
        guard case .response(.targets(let change)) = self, change.targetIDs.isEmpty,
            !change.readTime.isNone
        else { return nil }
        return change.readTime
    }
}

extension ArraySlice<Engine.Command> {
    /// True if these commands complete another snapshot of a watch stream before any other command.
    ///
    /// - Parameters:
    ///   - event: the event before the commands, which completes a snapshot that is not newer.
    ///   - generation: the number of the stream.
    func completeSnapshot(after event: WatchEvent, _ generation: Int) -> Bool {
        guard let version = event.snapshotVersion else { return false }
        for command in self {
            guard case .watchStream(let next, generation) = command, case .response = next else {
                return false
            }
            if let following = next.snapshotVersion { return following >= version }
        }
        return false
    }
}
