import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime

/// Locations that cache rules make local only, all of them in a local database: what concerns them
/// goes to a tree of their own.
extension DatabaseEngine {
    /// True if a location is local only.
    func isLocalOnly(_ path: TreePath) -> Bool { cacheRules.isLocalOnly(path) }

    /// Commits what was written to the local tree, and delivers it later.
    ///
    /// - Parameter isCurrent: true to write nothing if another client has changed data that this one
    ///   has not applied.
    /// - Returns: false if nothing was written for that reason.
    @discardableResult
    func commitLocalOnly(ifCurrent isCurrent: Bool = false) -> Bool {
        guard local != nil else { return true }
        guard let outcome = local?.commit(ifCurrent: isCurrent) else { return false }
        deliver(later: outcome.events)
        for answer in outcome.answers { call(later: answer) }
        return true
    }

    /// Shows what other clients of a local database have committed; nil for an unknown set.
    func refreshLocal(_ paths: [TreePath]?) {
        guard local != nil else { return }
        commitLocalOnly()
        do throws(LarderError) {
            deliver(later: try local?.refresh(paths ?? [.root]) ?? [])
        } catch {
            log("commits of other processes cannot be read: \(error.message)")
        }
    }

    // MARK: Reading

    func listenLocally(
        to query: QuerySpec, _ listener: Listener
    ) throws(LarderError) -> [TreeEvent] {
        commitLocalOnly()
        return try local?.listen(to: query, listener) ?? []
    }

    func getLocally(_ query: QuerySpec, _ completion: @escaping Completion<GetAnswer>) {
        commitLocalOnly()
        let result = Result { () throws(LarderError) in
            GetAnswer(
                query: query, node: try local?.value(of: query) ?? .empty,
                metadata: TreeEventMetadata(
                    isComplete: true, hasPendingWrites: false, isFromCache: !disk.isLocal))
        }
        call(later: { completion(result) })
    }

    // MARK: Writing

    /// True if a write is of local-only locations.
    ///
    /// - Throws: `invalidArgument` for a write of both kinds of locations.
    func isLocalOnly(_ request: WriteRequest) throws(LarderError) -> Bool {
        if cacheRules.localOnlyPaths.isEmpty { return false }
        if request.isEmpty { return cacheRules.isLocalOnly(request.path) }
        return try cacheRules.isLocalOnly(request.values)
    }

    /// Applies a write of local-only locations, which is acknowledged with its commit.
    ///
    /// - Throws: an error of the store.
    func writeLocally(
        _ request: WriteRequest, insteadOf deadWrite: WriteID?,
        committed: @escaping Completion<WriteID?>, acknowledged: @escaping Completion<Void>
    ) throws(LarderError) {
        let completion: Completion<Void> = { [weak self] result in
            committed(result.map { nil })
            guard case .success = result else { return }
            acknowledged(result)
            if let self, let deadWrite { _ = add(.perform { $0.removeDeadWrite(deadWrite) }) }
        }
        guard request.values.contains(where: { $0.node.hasDeferredValues }) else {
            local?.write(request.values, completion)
            return
        }
        try writeDependent { () throws(LarderError) in
            var values: [PathValue] = []
            for value in request.values { values.append(try resolved(value)) }
            return (values, completion)
        }
    }

    /// Applies a write that is computed from the stored data: again if another client has changed that
    /// in the meantime.
    ///
    /// - Parameter compute: the nodes to replace, and the completion; nil to write nothing.
    private func writeDependent(
        _ compute: () throws(LarderError) -> (values: [PathValue], Completion<Void>)?
    ) throws(LarderError) {
        while true {
            commitLocalOnly()
            guard let (values, completion) = try compute() else { return }
            local?.write(values, completion)
            // The only client commits at the end of the turn.
            if disk.membership == nil || commitLocalOnly(ifCurrent: true) { return }
            catchUp()
        }
    }

    /// A value whose server values are computed, as the server would.
    private func resolved(_ value: PathValue) throws(LarderError) -> PathValue {
        guard value.node.hasDeferredValues else { return value }
        let existing = try local?.value(of: QuerySpec(value.path)) ?? .empty
        return PathValue(
            value.path,
            value.node.resolvingServerValues(at: serverMilliseconds) { existing })
    }

    /// Runs a transaction of a local-only location: it is alone, and ends with its commit.
    func runTransactionLocally(
        at path: TreePath, _ update: TransactionUpdate,
        _ completion: @escaping Completion<TransactionOutcome>
    ) {
        do throws(LarderError) {
            try writeDependent { () throws(LarderError) in
                let node = try local?.value(of: QuerySpec(path)) ?? .empty
                guard let output = try update(node) else {
                    let outcome = TransactionOutcome(isCommitted: false, node: node)
                    call(later: { completion(.success(outcome)) })
                    return nil
                }
                let made = try resolved(PathValue(path, output))
                return (
                    [made],
                    { result in
                        completion(
                            result.map { TransactionOutcome(isCommitted: true, node: made.node) })
                    }
                )
            }
        } catch {
            call(later: { completion(.failure(error)) })
        }
    }

    /// Throws `invalidArgument` for an operation with data of local-only locations, and
    /// `failedPrecondition` for one of a local database.
    func checkForServer(_ operation: DisconnectOperation) throws(LarderError) {
        if disk.isLocal {
            throw LarderError(
                realtime: .failedPrecondition,
                "The database is local: it has no connection at whose end an operation could be "
                    + "performed.")
        }
        guard !cacheRules.localOnlyPaths.isEmpty, try cacheRules.isLocalOnly(operation.values)
        else { return }
        throw LarderError(
            realtime: .invalidArgument,
            "\(operation.values[0].path) is local only by the cache rules: there is no connection at "
                + "whose end it could be written")
    }

    // MARK: Rules

    /// Checks rules that are to replace the present ones, and opens the local tree if they need
    /// one.
    ///
    /// - Throws: `invalidArgument` if several clients share the store, or if the rules of a local
    ///   database evict; `failedPrecondition` if the rules change whether a location in use is local
    ///   only; an error of the store.
    func prepareLocalOnly(_ rules: TreeCacheRules) throws(LarderError) {
        if disk.isLocal { return try rules.checkLocal() }
        try rules.checkLocalOnly(configuration)
        commitLocalOnly()
        let changed =
            tree.viewPaths.first { rules.isLocalOnly($0) }
            ?? local?.listenedPaths.first { !rules.isLocalOnly($0) }
        if let changed {
            throw LarderError(
                realtime: .failedPrecondition,
                "the cache rules change whether \(changed) is local only, which is in use; remove "
                    + "its observers first")
        }
        if local == nil { local = try disk.localTree(for: rules, now: tree.now) }
    }
}

extension TreeCacheRules {
    /// Throws `invalidArgument` for rules of a local database that evict data.
    func checkLocal() throws(LarderError) {
        guard let rule = list.first(where: { $0.evicts }) else { return }
        throw LarderError(
            realtime: .invalidArgument,
            "the cache rule for \(rule.path) evicts data, and the database is local: it has nothing "
                + "to fetch it from again; remove the rule's limit")
    }

    /// Throws `invalidArgument` for local-only locations of a client that shares its store, or has
    /// none.
    func checkLocalOnly(_ configuration: DatabaseClientConfiguration) throws(LarderError) {
        guard let path = localOnlyPaths.first else { return }
        if configuration.storage == nil {
            throw LarderError(
                realtime: .invalidArgument,
                "\(path) is local only by the cache rules, and the database has no store; open it in "
                    + "a directory or in memory")
        }
        if configuration.isShared {
            throw LarderError(
                realtime: .invalidArgument,
                "\(path) is local only by the cache rules; a store that several processes share "
                    + "cannot have such rules")
        }
    }
}

extension DisconnectOperation {
    /// The nodes that the operation replaces, by paths from the root.
    fileprivate var values: [PathValue] {
        switch self {
        case .put(let path, let node): [PathValue(path, node)]
        case .merge(let path, let values):
            values.map { PathValue(path.appending($0.path), $0.node) }
        case .cancel: []
        }
    }
}
