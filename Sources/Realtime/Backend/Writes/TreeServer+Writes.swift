import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime

extension TreeServer {
    /// Makes a client's write.
    ///
    /// - Parameter hash: the hash that the present node must have; nil for any.
    func write(_ write: TreeWrite, hash: String? = nil, of session: BackendSession)
        -> RealtimeResponse
    {
        switch make(write, ifHash: hash, as: session.user) {
        case .written: return RealtimeResponse(.ok)
        case .denied: return .permissionDenied
        case .invalid(let reason): return RealtimeResponse(.failed, reason: reason)
        case .stale:
            sendPresentNode(at: write.path, to: session)
            return RealtimeResponse(.dataStale, reason: "Transaction hash does not match")
        }
    }

    /// Applies a write with the permissions of a user.
    ///
    /// - Parameter hash: the hash that the present node must have; nil for any.
    func make(_ write: TreeWrite, ifHash hash: String?, as user: RealtimeUser?) -> WriteResult {
        do throws(LarderError) {
            try write.validate()
        } catch {
            return .invalid(error.message)
        }
        let time = now
        let resolved = write.resolved(at: time, in: tree)
        let result = resolved.applied(to: tree)
        guard mayWrite(resolved, user, at: time, result) else { return .denied }
        if let hash {
            let present = tree.node(at: write.path)
            guard present.hasHash(hash) else { return .stale(present) }
        }
        replaceTree(with: result, after: resolved)
        return .written(resolved)
    }

    /// The answer to a write that is invalid whatever the rules say; nil for a valid one.
    private func refusal(of write: TreeWrite) -> RealtimeResponse? {
        do throws(LarderError) {
            try write.validate()
            return nil
        } catch {
            return RealtimeResponse(.failed, reason: error.message)
        }
    }

    /// Sends what is at a path, if the client listens there: its copy may be damaged.
    private func sendPresentNode(at path: TreePath, to session: BackendSession) {
        let isListening = (0...path.count).contains { depth in
            session.listens.contains(ListenKey(query: QuerySpec(path.prefix(depth)), tag: nil))
        }
        guard isListening else { return }
        send(.push(.overwrite(path, tree.node(at: path), tag: nil)), to: session.channel)
    }

    func writeAsAdministrator(
        _ write: TreeWrite, _ completion: @escaping @Sendable (RealtimeResponse) -> Void
    ) {
        if let refusal = refusal(of: write) { return deliverLater(.answer(refusal, completion)) }
        _ = make(write, ifHash: nil, as: .administrator)
        deliverLater(.answer(RealtimeResponse(.ok), completion))
    }

    /// Replaces the tree and sends the change to all listens that it concerns: at once, or in their
    /// sessions' turns if many windows are to be computed.
    func replaceTree(with result: Node, after write: TreeWrite) {
        let end = workStart + WaitingWork.sliceTime
        let pushes = WritePushes(of: write, from: tree, to: result) { [scheduler] in
            scheduler.uptime > end
        }
        setTree(result, after: write)
        pushes.forEach(in: listens) { listener, delivery in
            switch delivery {
            case .push(let push): send(.push(push), to: listener.session.channel)
            case .content(let query): sendLater(query, to: listener)
            }
        }
    }

    // MARK: Ends of connections

    /// Keeps a write for the end of a session.
    func register(_ write: TreeWrite, of session: BackendSession) -> RealtimeResponse {
        if let refusal = refusal(of: write) { return refusal }
        if let reason = session.operations.refusal(of: write) {
            return RealtimeResponse(.failed, reason: reason)
        }
        // What was registered stays when the session is relieved of it: it becomes data.
        let bytes = write.values.reduce(0) { $0 + $1.node.estimatedSize }
        if session.channel.memory?.mayKeep(bytes) == false {
            return RealtimeResponse(
                .unavailable, reason: "the server's memory is in use: try again")
        }
        let time = now
        let resolved = write.resolved(at: time, in: tree)
        guard mayWrite(resolved, session.user, at: time, resolved.applied(to: tree)) else {
            return .permissionDenied
        }
        apply(SessionOperation(change: .write(write), user: session.user), to: session)
        return RealtimeResponse(.ok)
    }
}
