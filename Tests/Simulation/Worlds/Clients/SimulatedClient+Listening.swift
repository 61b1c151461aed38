import LarderModel
import LarderPlanning
import LarderQuery
import LarderSync
import LarderTestSupport
import SimulationSupport

extension SimulatedClient {
    /// Starts to listen to a query.
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
        // Requests are served in order.
        client?.inspect { _ in listener.isOver = true }
    }

    /// Evicts a query's documents.
    func evict(_ query: Query) {
        client?.evict(query) { [journal, number] result in
            if case .success(let summary) = result {
                journal.note(.evicted, "client \(number): \(summary)")
            }
        }
    }

    /// Evicts everything that is not in use.
    func collectGarbage() {
        client?.collectGarbage(threshold: 0) { [journal, number] result in
            journal.note(.collected, "client \(number)")
            if case .failure(let error) = result, error.kind != .failedPrecondition {
                journal.fail("no garbage: \(error)")
            }
        }
    }

    // MARK: Agreement

    /// Checks that all listeners have the same documents at a snapshots-in-sync event.
    ///
    /// Excepts documents between the acknowledgement of a write and its watch response: listeners
    /// that saw the write pending keep showing it.
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

    /// Checks reads from the cache: queries against documents, documents against pending writes,
    /// listeners against queries.
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

    /// The fields of documents by pending writes, if they do not depend on cached data.
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
    /// The document after the mutation: its fields, or nil for none; the outer optional is nil if
    /// that is unknown.
    ///
    /// - Parameter state: the document before.
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
        // The base of an increment depends on the backend's data.
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
