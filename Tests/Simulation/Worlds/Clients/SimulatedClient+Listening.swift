import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync
import LarderTestSupport
import SimulationSupport

extension SimulatedClient {
    /// Listens to a query from now on.
    @discardableResult
    func listen(to query: Query, _ options: ListenOptions) -> SimulatedListener? {
        guard let client else { return nil }
        listenerCount += 1
        let listener = SimulatedListener("\(listenerCount)", to: query, options, of: self)
        journal.note("\(listener.name) listens to \(query.canonicalID) \(options)")
        listeners.append(listener)
        listener.registration = client.listen(to: query, options: options) { [weak listener] in
            listener?.receive($0)
        }
        return listener
    }

    /// Ends a listener.
    func remove(_ listener: SimulatedListener) {
        journal.note("\(listener.name) goes")
        listeners.removeAll { $0 === listener }
        listener.registration?.remove()
        // What is asked later is served later.
        client?.inspect { _ in listener.isOver = true }
    }

    /// Takes what a query gives out of the cache.
    func evict(_ query: Query) {
        client?.evict(query) { [journal, number] result in
            if case .success(let summary) = result {
                journal.note(.evicted, "client \(number): \(summary)")
            }
        }
    }

    /// Takes everything out of the cache that nothing needs.
    func collectGarbage() {
        client?.collectGarbage(threshold: 0) { [journal, number] result in
            journal.note(.collected, "client \(number)")
            if case .failure(let error) = result, error.kind != .failedPrecondition {
                journal.fail("no garbage: \(error)")
            }
        }
    }

    // MARK: What must agree

    /// All listeners have the same documents at a moment at which they are in agreement.
    ///
    /// But for those between the acknowledgement of a write and the word of the watch stream:
    /// who saw the write pending goes on to see that.
    func compareListeners() {
        var seen: [DocumentPath: (document: Document, listener: SimulatedListener)] = [:]
        for listener in listeners {
            guard listener.error == nil, let snapshot = listener.snapshot else { continue }
            for document in snapshot.documents {
                guard let other = seen[document.path] else {
                    seen[document.path] = (document, listener)
                    continue
                }
                let arePending = document.hasLocalMutations && other.document.hasLocalMutations
                if !arePending, document.hasPendingWrites || other.document.hasPendingWrites {
                    continue
                }
                journal.expect(
                    document.record == other.document.record,
                    "\(listener.name) has \(document.path) as \(document.fields), "
                        + "\(other.listener.name) as \(other.document.fields)")
            }
        }
    }

    /// What is read from the cache agrees: queries with documents, documents with pending
    /// writes, listeners with queries.
    func checkReads(of queries: [Query]) {
        guard let client, running?.isTerminating == false else { return }
        do throws(LarderError) {
            var fields: [DocumentPath: MapValue] = [:]
            var isBetween = false
            for source in World.groups {
                for document in try client.run(Query(.group(source))).documents {
                    fields[document.path] = document.fields
                    isBetween = isBetween || document.hasCommittedMutations
                }
            }
            let expectations = try pendingFields()
            for (path, expected) in expectations {
                journal.expect(
                    fields[path] == expected,
                    "client \(number) has \(path) as \(fields[path] ?? [:]) with pending writes "
                        + "that make it \(expected ?? [:])")
            }
            for query in queries + listeners.map(\.query) {
                let found = try client.run(query).documents
                let expected = NaiveEvaluator(query).documents(among: fields)
                journal.expect(
                    found.map(\.path) == expected,
                    "client \(number): \(query.canonicalID) gives \(found.map(\.path)), not "
                        + "\(expected)")
            }
            for listener in listeners where !isBetween {
                guard listener.error == nil, let snapshot = listener.snapshot else { continue }
                let found = try client.run(listener.query).documents
                journal.expect(
                    found.map(\.path) == snapshot.documents.map(\.path)
                        && found.map(\.record) == snapshot.documents.map(\.record),
                    "\(listener.name) has \(snapshot.summary), but the cache has "
                        + "\(found.map { "\($0.path) \($0.fields)" })")
            }
        } catch {
            journal.fail("client \(number) cannot read: \(error)")
        }
    }

    /// The fields that pending writes give documents, where those do not depend on what is
    /// cached.
    private func pendingFields() throws(LarderError) -> [DocumentPath: MapValue?] {
        guard let client else { return [:] }
        var known: [DocumentPath: MapValue?] = [:]
        for batch in try client.pendingWrites() {
            for mutation in batch.mutations {
                known[mutation.path] = mutation.modelState(
                    over: known[mutation.path], at: batch.localWriteTime)
            }
        }
        return known
    }
}

extension Mutation {
    /// What the document becomes: its fields or nil for none, and nil outside of that where it
    /// is not known.
    ///
    /// - Parameter state: what it was.
    fileprivate func modelState(over state: MapValue??, at time: Timestamp) -> MapValue?? {
        switch (precondition, state) {
        case (.exists(true), .some(nil)), (.exists(false), .some(.some)): return state
        case (.exists, .none):
            if case .delete = operation, precondition == .exists(true) { return .some(nil) }
            return .none
        case (.updateTime, _): return .none
        default: break
        }
        if case .patch = operation, state == nil { return .none }
        if !transforms.isEmpty, state == nil { return .none }
        // What a number counts from depends on what the backend has said of it meanwhile.
        let counts = transforms.contains { transform in
            if case .increment = transform.operation { true } else { false }
        }
        if counts { return .none }
        return .some(
            modelFields(over: state ?? nil) { transform, old in
                transform.operation.modelEstimate(old, time)
            })
    }
}
