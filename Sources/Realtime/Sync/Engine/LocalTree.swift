import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime

/// The locations that cache rules make local only: a tree beside the server's, in the same store; all
/// of them in a local database.
///
/// All of its data is stored, so that nothing is asked for. A write is applied in the commit that would
/// queue it elsewhere. The writes of a turn share a commit, and are shown once it has succeeded:
/// the owner calls ``commit()`` before everything that reads, and at the end of a turn.
struct LocalTree {
    /// A write that is not committed.
    private struct Write {
        let values: [PathValue]
        let completion: Completion<Void>
    }

    /// The events and completions of a commit, for the owner to deliver.
    struct Outcome {
        var events: [TreeEvent] = []
        /// Calls of the completions, in the order of the writes.
        var answers: [@Sendable () -> Void] = []
    }

    private let disk: DatabaseDisk
    /// True in a local database, which is no cache of anything.
    private let isAuthoritative: Bool
    private var tree: SyncTree
    private var writes: [Write] = []

    /// Opens the tree, which is made if there is none.
    ///
    /// - Parameters:
    ///   - disk: the disk of the tree, for it alone.
    ///   - now: the time in milliseconds since the Unix epoch.
    init(_ disk: DatabaseDisk, now: Int64) throws(LarderError) {
        self.disk = disk
        isAuthoritative = disk.isLocal
        tree = try disk.makeTree(now: now)
        tree.now = now
        tree.stored?.tracksUses = false
        tree.stored?.obey(try TreeCacheRules([TreeCacheRule(.root, isPinned: true)]))
        tree.stored?.ensureComplete(.root, now: now)
        if disk.commitsBeforeEvents { try disk.commit() }
    }

    /// The owner's clock, in milliseconds since the Unix epoch.
    var now: Int64 {
        get { tree.now }
        set { tree.now = newValue }
    }

    /// The locations with listeners.
    var listenedPaths: [TreePath] { tree.viewPaths }

    /// Ends the use of the store, which stays open.
    func close() {
        disk.close { _ in }
    }
}

// MARK: - Reading

extension LocalTree {
    /// Adds a listener of a query.
    mutating func listen(
        to query: QuerySpec, _ listener: Listener
    ) throws(LarderError) -> [TreeEvent] {
        // Elsewhere the server sends the children that enter a window. Here the view finds them
        // itself, for which it starts with the whole location.
        let location = QuerySpec(query.path)
        if !query.loadsAllData { try tree.hold(location, for: .keepSynced) }
        defer {
            if !query.loadsAllData { tree.release(location, for: .keepSynced) }
            _ = tree.takeListenEffects()
        }
        return metadata(of: try tree.listen(to: query, listener))
    }

    /// Events with the metadata of a local database, if it is one.
    private func metadata(of events: [TreeEvent]) -> [TreeEvent] {
        isAuthoritative ? events.map(\.authoritative) : events
    }

    /// Removes a listener.
    mutating func stopListening(to query: QuerySpec, _ listener: ListenerID) {
        tree.stopListening(to: query, listener)
        _ = tree.takeListenEffects()
    }

    /// The data of a query.
    func value(of query: QuerySpec) throws(LarderError) -> Node {
        if let node = tree.value(of: query) { return node }
        return try tree.storedValue(of: query)?.node ?? .empty
    }
}

// MARK: - Writing

extension LocalTree {
    /// Replaces nodes, all or none, with the next commit.
    ///
    /// - Parameter values: the nodes by paths from the root, of which none contains another.
    mutating func write(_ values: [PathValue], _ completion: @escaping Completion<Void>) {
        if !values.isEmpty {
            tree.stored?.serverChanged(.root, values, isOverwrite: values.count == 1)
        }
        writes.append(Write(values: values, completion: completion))
    }

    /// Commits the writes since the last call, all or none, and shows them.
    ///
    /// - Parameter isCurrent: true to write nothing if another client has changed data that this one
    ///   has not applied.
    /// - Returns: nil if nothing was written for that reason.
    mutating func commit(ifCurrent isCurrent: Bool = false) -> Outcome? {
        guard !writes.isEmpty else { return Outcome() }
        let writes = writes
        self.writes = []
        let result = Result { () throws(LarderError) in
            try disk.commit(isComplete: true, ifCurrent: isCurrent)
        }
        var outcome = Outcome()
        switch result {
        case .success:
            for write in writes where !write.values.isEmpty {
                outcome.events += metadata(of: tree.showServerChange(write.values))
            }
        case .failure(let error):
            disk.dropContent()
            if error === LarderError.behind { return nil }
        }
        outcome.answers = writes.map { write in { write.completion(result) } }
        return outcome
    }
}

// MARK: - Other clients

extension LocalTree {
    /// Shows what another client has committed.
    ///
    /// - Parameter paths: the locations whose content it has replaced.
    mutating func refresh(_ paths: [TreePath]) throws(LarderError) -> [TreeEvent] {
        var events: [TreeEvent] = []
        for path in paths {
            let path = path.isPriority ? path.dropLast() : path
            let shown = tree.isShown(path) ? [path] : tree.outermostViews(below: path)
            for location in shown {
                let node = try tree.storedValue(of: QuerySpec(location))?.node ?? .empty
                events += tree.showServerChange([PathValue(location, node)])
            }
        }
        return metadata(of: events)
    }
}

extension TreeEvent {
    /// The event with the metadata of data that is no cache.
    fileprivate var authoritative: TreeEvent {
        var metadata = metadata
        metadata.isFromCache = false
        return TreeEvent(listener: listener, query: query, change: change, metadata: metadata)
    }
}
