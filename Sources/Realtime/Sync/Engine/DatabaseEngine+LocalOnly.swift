import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderRuntime

/// Locations that cache rules make local only: what concerns them goes to a tree of their own.
extension DatabaseEngine {
    /// True if a location is local only.
    func isLocalOnly(_ path: TreePath) -> Bool { cacheRules.isLocalOnly(path) }

    /// Commits what was written to the local tree, and delivers it later.
    func commitLocalOnly() {
        guard let outcome = local?.commit() else { return }
        deliver(later: outcome.events)
        for answer in outcome.answers { call(later: answer) }
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
                    isComplete: true, hasPendingWrites: false, isFromCache: true))
        }
        call(later: { completion(result) })
    }

    // MARK: Writing

    /// True if a write is of local-only locations.
    ///
    /// - Throws: `invalidArgument` for a write of both kinds of locations.
    func isLocalOnly(_ request: WriteRequest) throws(LarderError) -> Bool {
        if cacheRules.localOnlyPaths.isEmpty { return false }
        return try cacheRules.isLocalOnly(request.values)
    }

    /// Makes a write of local-only locations, which is acknowledged with its commit.
    ///
    /// - Throws: an error of the store.
    func writeLocally(
        _ request: WriteRequest, insteadOf deadWrite: WriteID?,
        committed: @escaping Completion<WriteID?>, acknowledged: @escaping Completion<Void>
    ) throws(LarderError) {
        let values = try request.values.map(resolved)
        local?.write(values) { [weak self] result in
            committed(result.map { nil })
            guard case .success = result else { return }
            acknowledged(result)
            if let self, let deadWrite { _ = add(.perform { $0.removeDeadWrite(deadWrite) }) }
        }
    }

    /// A value whose server values are computed, as the server would.
    private func resolved(_ value: PathValue) throws(LarderError) -> PathValue {
        guard value.node.hasDeferredValues else { return value }
        commitLocalOnly()
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
        commitLocalOnly()
        do throws(LarderError) {
            let node = try local?.value(of: QuerySpec(path)) ?? .empty
            guard let output = try update(node) else {
                let outcome = TransactionOutcome(isCommitted: false, node: node)
                return call(later: { completion(.success(outcome)) })
            }
            let made = try resolved(PathValue(path, output))
            local?.write([made]) { result in
                completion(result.map { TransactionOutcome(isCommitted: true, node: made.node) })
            }
        } catch {
            call(later: { completion(.failure(error)) })
        }
    }

    /// Throws `invalidArgument` for an operation with data of local-only locations.
    func checkForServer(_ operation: DisconnectOperation) throws(LarderError) {
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
    /// - Throws: `invalidArgument` if several clients share the store; `failedPrecondition` if the rules
    ///   change whether a location in use is local only; an error of the store.
    func prepareLocalOnly(_ rules: TreeCacheRules) throws(LarderError) {
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
