import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeRules
import LarderRuntime

extension TreeServer {
    /// Begins a listen, or answers one again that is there already.
    ///
    /// Missing data is sent before the answer: nothing if its hash is that of the content,
    /// the ranges that differ, or all of it.
    func listen(
        _ key: ListenKey, _ hash: String, _ compoundHash: CompoundHash?, _ session: BackendSession
    ) -> RealtimeResponse {
        if let refusal = refusal(of: key.query, session) { return refusal }
        let path = key.query.path
        let content: Node
        switch self.content(of: key.query, for: session.channel) {
        case .success(let node): content = node
        case .failure(let error): return RealtimeResponse(.unavailable, reason: error.message)
        }
        if !session.listens.contains(key) {
            guard session.listens.count < Self.maxListens else {
                return RealtimeResponse(
                    .failed, reason: "a session is limited to \(Self.maxListens) listens")
            }
            session.listens.insert(key)
            session.chargeMemory()
            listens.insert(key, of: session)
        }
        if !content.hasHash(hash) {
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
        guard session.listens.remove(key) != nil else { return }
        session.chargeMemory()
        listens.remove(key, of: session)
    }

    /// Reads a query once.
    func get(_ query: QuerySpec, _ session: BackendSession) -> RealtimeResponse {
        if let refusal = refusal(of: query, session) { return refusal }
        return switch content(of: query, for: session.channel) {
        case .success(let node): RealtimeResponse(.ok, payload: .node(node))
        case .failure(let error): RealtimeResponse(.unavailable, reason: error.message)
        }
    }

    /// The maximum number of listens of a session.
    static let maxListens = 100_000
    /// The maximum time of a query; one that sorts by an index takes the longest.
    static let queryTime = Duration.seconds(10)

    /// The content of a query at this time.
    ///
    /// - Parameter channel: the connection that asks for it; nil if it has none.
    /// - Returns: `unavailable` for a query that takes too long, or whose client has left.
    func content(of query: QuerySpec, for channel: Channel?) -> Result<Node, LarderError> {
        let end = scheduler.uptime + Self.queryTime
        return Result { () throws(LarderError) in
            try query.parameters.filtered(tree.node(at: query.path)) { () throws(LarderError) in
                if channel?.isMute == true { throw .clientHasLeft }
                if scheduler.uptime >= end { throw .queryTooLong }
            }
        }
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

    func revoke(_ key: ListenKey, _ session: BackendSession) {
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

extension LarderError {
    fileprivate static var clientHasLeft: LarderError {
        LarderError(realtime: .cancelled, "the client has left")
    }

    fileprivate static var queryTooLong: LarderError {
        LarderError(
            realtime: .unavailable,
            "the query takes longer than \(TreeServer.queryTime.components.seconds) s: narrow it down"
        )
    }
}
