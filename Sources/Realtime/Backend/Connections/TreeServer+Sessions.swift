import LarderRealtimeModel
import LarderRealtimeRemote

extension TreeServer {
    /// Opens a session for a connection, and ends the client's previous one.
    func open(_ channel: Channel, _ request: ConnectRequest) {
        if let refusal = settings.refusal {
            return send(.closed(refusal), to: channel)
        }
        writeUnwritten()
        if let id = request.lastSessionID {
            if let previous = session(id) { end(previous, with: .closed(nil)) }
            if wait(for: id, channel, { $0.open(channel, request) }) { return }
        }
        let hello = ServerHello(
            serverTimeMilliseconds: now, host: configuration.host,
            sessionID: addSession(channel).id, namesID: namesID)
        send(.opened(hello), to: channel)
    }

    /// Serves a request; its answer follows everything that it leads to.
    func serve(_ request: RealtimeRequest, number: Int, from channel: Channel) {
        guard let session = sessions[channel] else { return }
        if case .once(let token, _) = request,
            endFormer(
                of: token, session,
                {
                    $0.serve(request, number: number, from: channel)
                })
        {
            return
        }
        respond(answer(request, of: session), to: number, of: channel)
    }

    private func answer(_ request: RealtimeRequest, of session: BackendSession) -> RealtimeResponse
    {
        switch request {
        case .authenticate(let token, let actingUser):
            return authenticate(token, as: actingUser, session)
        case .unauthenticate:
            setUser(nil, of: session)
            return RealtimeResponse(.ok)
        case .listen(let query, let tag, let hash, let compoundHash):
            return listen(ListenKey(query: query, tag: tag), hash, compoundHash, session)
        case .unlisten(let query, let tag):
            remove(ListenKey(query: query, tag: tag), of: session)
            return RealtimeResponse(.ok)
        case .get(let query): return get(query, session)
        case .put(let path, let node, let hash):
            return write(TreeWrite(path, node), hash: hash, of: session)
        case .merge(let path, let values): return write(TreeWrite(path, values), of: session)
        case .once(let token, let write): return answer(write, once: token, of: session)
        case .onDisconnectPut(let path, let node):
            return register(TreeWrite(path, node), of: session)
        case .onDisconnectMerge(let path, let values):
            return register(TreeWrite(path, values), of: session)
        case .onDisconnectCancel(let path):
            apply(SessionOperation(change: .cancel(path), user: session.user), to: session)
            return RealtimeResponse(.ok)
        case .statistics: return RealtimeResponse(.ok)
        }
    }

    /// Ends the sessions in a token's `former`, with their `onDisconnect` operations.
    ///
    /// - Parameter body: done when the operations are made.
    /// - Returns: true if they are not all made yet.
    private func endFormer(
        of token: WriteToken, _ session: BackendSession,
        _ body: @escaping @Sendable (isolated TreeServer) -> Void
    ) -> Bool {
        for id in token.former where id != session.id {
            if let former = self.session(id) { end(former, with: .closed(nil)) }
            if wait(for: id, session.channel, body) { return true }
        }
        return false
    }

    /// Applies a write, or answers it again if it was made, whatever the present node.
    private func answer(
        _ write: RealtimeRequest, once token: WriteToken, of session: BackendSession
    ) -> RealtimeResponse {
        if madeWrites.contains(token) { return RealtimeResponse(.ok) }
        let response = answer(write, of: session)
        if response.status == .ok { madeWrites.insert(token, at: now) }
        return response
    }

    // MARK: Ends

    /// The client closed its connection.
    func connectionClosed(_ channel: Channel) {
        if let session = sessions[channel] { end(session) }
    }

    /// Ends all sessions; the clients receive an event.
    func endAllSessions(_ event: ConnectionEvent) {
        let all = orderedSessions
        for session in all { remove(session, with: event) }
        for session in all { beginEnding(session) }
    }

    /// Ends a session and applies the writes that its client left for this.
    private func end(_ session: BackendSession, with event: ConnectionEvent? = nil) {
        remove(session, with: event)
        beginEnding(session)
    }

    // MARK: Users

    private func authenticate(
        _ token: String, as actingUser: ActingUser?, _ session: BackendSession
    ) -> RealtimeResponse {
        switch configuration.tokens(token) {
        case .valid(let owner):
            if let expiration = owner.expiration, expiration.milliseconds <= now { break }
            let user: RealtimeUser?
            switch owner.acting(as: actingUser) {
            case .success(let acting): user = acting
            case .failure(let error):
                setUser(nil, of: session)
                return RealtimeResponse(.invalidToken, reason: error.message)
            }
            setUser(user, of: session)
            let auth = user.map { JSONValue.object([JSONMember("uid", .string($0.id))]) } ?? .null
            return RealtimeResponse(.ok, payload: .json(.object([JSONMember("auth", auth)])))
        case .expired: break
        case .invalid(let reason):
            setUser(nil, of: session)
            return RealtimeResponse(.invalidToken, reason: reason)
        }
        setUser(nil, of: session)
        return RealtimeResponse(.expiredToken, reason: "the token has expired")
    }

    func setUser(_ user: RealtimeUser?, of session: BackendSession) {
        session.cancelExpiration?()
        session.cancelExpiration = nil
        session.user = user
        if let expiration = user?.expiration { scheduleExpiration(of: session, at: expiration) }
        recheckListens(of: session)
    }

    /// Ends the authentication of a session, and says so.
    func expireToken(of session: BackendSession) {
        guard session.user != nil else { return }
        send(
            .push(.authenticationRevoked(.expiredToken, reason: "the token has expired")),
            to: session.channel)
        setUser(nil, of: session)
    }

    func expireAllTokens() {
        for session in orderedSessions { expireToken(of: session) }
    }
}
