import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules

extension TreeServer {
    /// Begins a listen, or answers one again that is there already.
    ///
    /// Missing data is sent before the answer: nothing if its hash is that of the content,
    /// the ranges that differ, or all of it.
    func listen(
        _ key: ListenKey, _ hash: String, _ compoundHash: CompoundHash?, _ session: BackendSession
    ) -> RealtimeResponse {
        if let refusal = refusal(of: key.query, session) { return refusal }
        if session.listens.insert(key).inserted { listens.insert(key, of: session) }
        let (path, content) = (key.query.path, content(of: key.query))
        // The hash of large content that a client has nothing of is not computed.
        if hash.isEmpty ? !content.isEmpty : content.hash != hash {
            send(.push(update(compoundHash, to: content, at: path, key.tag)), to: session.channel)
        }
        return securityRules?.missingIndex(of: key.query) == nil
            ? RealtimeResponse(.ok) : .withoutIndex
    }

    private func update(
        _ compoundHash: CompoundHash?, to content: Node, at path: TreePath, _ tag: Int?
    ) -> RealtimePush {
        if let merges = compoundHash?.rangeMerges(to: content) {
            let size = merges.reduce(0) { $0 + $1.content.estimatedSize }
            if size < content.estimatedSize { return .rangeMerge(path, merges, tag: tag) }
        }
        return .overwrite(path, content, tag: tag)
    }

    func remove(_ key: ListenKey, of session: BackendSession) {
        if session.listens.remove(key) != nil { listens.remove(key, of: session) }
    }

    /// Reads a query once.
    func get(_ query: QuerySpec, _ session: BackendSession) -> RealtimeResponse {
        if let refusal = refusal(of: query, session) { return refusal }
        return RealtimeResponse(.ok, payload: .node(content(of: query)))
    }

    func content(of query: QuerySpec) -> Node {
        query.parameters.filtered(tree.node(at: query.path))
    }

    // MARK: Permissions

    /// The answer to a query that is invalid or that the rules deny; nil for an allowed one.
    private func refusal(of query: QuerySpec, _ session: BackendSession) -> RealtimeResponse? {
        do throws(LarderError) {
            try query.validate()
        } catch {
            return RealtimeResponse(.failed, reason: error.message)
        }
        return mayRead(query, session.user) ? nil : .permissionDenied
    }

    /// Ends the listens of a session that the rules deny by now.
    func recheckListens(of session: BackendSession) {
        let denied = session.listens.filter { !mayRead($0.query, session.user) }
        for key in denied.sorted(by: { $0.query.path < $1.query.path }) { revoke(key, session) }
    }

    func recheckAllListens() {
        for session in orderedSessions { recheckListens(of: session) }
    }

    /// Ends all listens at a location.
    func revokeListens(at path: TreePath) {
        for session in orderedSessions {
            for key in session.listens where key.query.path == path { revoke(key, session) }
        }
    }

    private func revoke(_ key: ListenKey, _ session: BackendSession) {
        remove(key, of: session)
        send(.push(.listenRevoked(key.query.path, key.query.parameters)), to: session.channel)
    }
}

extension RealtimeResponse {
    static let permissionDenied = RealtimeResponse(.permissionDenied, reason: "Permission denied")

    /// The answer to a listen whose order is not in the rules' `.indexOn`.
    static let withoutIndex = RealtimeResponse(
        .ok, payload: .json(.object([JSONMember("w", .array([.string("no_index")]))])))
}
