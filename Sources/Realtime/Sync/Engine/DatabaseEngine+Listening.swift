import LarderCore
package import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime

/// The answer to a get.
package struct GetAnswer: Sendable {
    package let query: QuerySpec
    package let node: Node
    package let metadata: TreeEventMetadata
}

/// A get that waits for the server.
struct PendingGet {
    let query: QuerySpec
    let completion: Completion<GetAnswer>
}

// MARK: - Listeners

extension DatabaseEngine {
    func listen(
        to query: QuerySpec, _ listener: Listener,
        _ deliver: @escaping @Sendable (TreeEvent) -> Void
    ) {
        guard !isTerminated else {
            return deliver(.ending(listener.id, query, DatabaseClient.terminated))
        }
        listeners[listener.id] = deliver
        do throws(LarderError) {
            self.deliver(later: try open(query, listener))
        } catch {
            self.deliver(later: [.ending(listener.id, query, error)])
        }
    }

    private func open(
        _ query: QuerySpec, _ listener: Listener
    ) throws(LarderError) -> [TreeEvent] {
        if InfoTree.contains(query.path) { return try info.listen(to: query, listener) }
        if isLocalOnly(query.path) { return try listenLocally(to: query, listener) }
        forgetEvicted()
        return try tree.listen(to: query, listener)
    }

    func removeListener(_ id: ListenerID, from query: QuerySpec) {
        guard listeners.removeValue(forKey: id) != nil else { return }
        if InfoTree.contains(query.path) {
            info.stopListening(to: query, id)
        } else if isLocalOnly(query.path) {
            local?.stopListening(to: query, id)
        } else {
            tree.stopListening(to: query, id)
        }
    }

    func keepSynced(_ query: QuerySpec, _ isKept: Bool) {
        // Local-only data is always in the cache.
        guard !isTerminated, !isLocalOnly(query.path) else { return }
        guard isKept else { return tree.release(query, for: .keepSynced) }
        forgetEvicted()
        do throws(LarderError) {
            try tree.hold(query, for: .keepSynced)
        } catch {
            log("\(query.path) cannot be kept in sync: \(error.message)")
        }
    }
}

// MARK: - Gets

extension DatabaseEngine {
    func get(_ query: QuerySpec, _ completion: @escaping Completion<GetAnswer>) {
        guard !isTerminated else { return completion(.failure(DatabaseClient.terminated)) }
        if InfoTree.contains(query.path) {
            let node = info.value(of: query) ?? .empty
            return answer(completion, query, node, isFromCache: false)
        }
        if isLocalOnly(query.path) { return getLocally(query, completion) }
        forgetEvicted()
        // If the query is current, asking the server would add nothing, even to an incomplete value.
        let isCurrent = tree.isCurrent(query)
        if let known = tree.knownValue(of: query), known.isComplete || isCurrent {
            return answer(
                completion, query, known.node, isComplete: known.isComplete,
                isFromCache: !tree.isConfirmed(query))
        }
        let get = PendingGet(query: query, completion: completion)
        guard configuration.remote != nil else {
            return answerFromCache(get, because: nil)
        }
        let id = newID()
        tree.getBegan(query)
        gets[id] = get
        unsentGets.append(id)
        setTimer(.get(id), after: configuration.getTimeout) { $0.getTimedOut(id) }
    }

    private func getTimedOut(_ id: ID) {
        guard let get = endGet(id) else { return }
        let error = LarderError(
            realtime: .unavailable,
            "The server has not answered in \(configuration.getTimeout), and the client has no "
                + "listener of \(get.query.path) and nothing of it in its cache.")
        answerFromCache(get, because: machine.isReady ? error : nil)
    }

    /// Asks the server for what was not asked for on this connection.
    func planGets(_ requests: inout [PlannedRequest]) {
        for id in unsentGets {
            guard let get = gets[id] else { continue }
            let number = newRequestNumber()
            sentGets[number] = id
            requests.append(
                PlannedRequest(number: number, request: .get(get.query.normalized)))
        }
        unsentGets.removeAll()
    }

    /// The connection has ended: gets are sent again on the next one.
    func loseGets() {
        unsentGets = gets.keys.sorted()
        sentGets.removeAll()
    }

    func receive(_ response: RealtimeResponse, toGet number: Int) {
        guard let id = sentGets.removeValue(forKey: number), let get = endGet(id) else { return }
        guard response.status == .ok, case .node(let node) = response.payload else {
            return answerFromCache(get, because: response.status == .ok ? nil : response.error)
        }
        let (known, isComplete, events) = tree.receive(node, of: get.query)
        serverListens.disturb(at: get.query.path)
        deliver(later: events)
        answer(get.completion, get.query, known, isComplete: isComplete, isFromCache: false)
        dataChanged(at: get.query.path)
    }

    private func endGet(_ id: ID) -> PendingGet? {
        guard let get = gets.removeValue(forKey: id) else { return nil }
        cancelTimer(.get(id))
        tree.getEnded(get.query)
        return get
    }

    private func answerFromCache(_ get: PendingGet, because error: LarderError?) {
        forgetEvicted()
        let stored = (try? tree.storedValue(of: get.query)).flatMap { $0 }
        if let known = tree.knownValue(of: get.query) {
            answer(
                get.completion, get.query, known.node, isComplete: known.isComplete,
                isFromCache: true)
        } else if let stored {
            answer(
                get.completion, get.query, stored.node, isComplete: stored.isComplete,
                isFromCache: true)
        } else {
            let error =
                error
                ?? LarderError(
                    realtime: .unavailable,
                    "The client is offline, has no listener of \(get.query.path) and nothing of it "
                        + "in its cache.")
            call(later: { get.completion(.failure(error)) })
        }
    }

    private func answer(
        _ completion: @escaping Completion<GetAnswer>, _ query: QuerySpec, _ node: Node,
        isComplete: Bool = true, isFromCache: Bool
    ) {
        let answer = GetAnswer(
            query: query, node: node,
            metadata: TreeEventMetadata(
                isComplete: isComplete,
                hasPendingWrites: tree.hasPendingWrites(at: query.path),
                isFromCache: isFromCache))
        call(later: { completion(.success(answer)) })
    }
}

extension SyncTree {
    /// True if pending writes lie at, above or below a location.
    func hasPendingWrites(at path: TreePath) -> Bool {
        !writes.visibleWrites.descending(to: path).isEmpty
    }
}
