import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRuntime

/// An authentication that the server has not answered.
struct Authentication {
    let number: Int
    /// The token; nil for the end of the authentication.
    let token: String?
}

/// How far a connection has measured the time that messages take.
enum RoundTrip {
    case unmeasured
    /// A request was sent whose answer tells the time.
    case waiting(number: Int, since: Duration)
    case measured
}

// MARK: - The application's requests

extension DatabaseEngine {
    func goOffline() {
        performAll(machine.interrupt(.user))
        loseUnknownRequests()
    }

    func goOnline() {
        // Also after the server has asked its clients to stay away.
        performAll(machine.resume([.user, .serverShutdown], at: scheduler.uptime))
    }

    func reconnect() {
        performAll(machine.reconnect(at: scheduler.uptime))
    }

    /// The user has signed in, out or again.
    func tokenChanged() {
        guard let tokens = configuration.tokens else { return }
        disk.setToken(nil)
        tokens.fetchToken(forcingRefresh: false) { [weak self] result in
            _ = self?.add(
                .perform { engine in
                    switch result {
                    case .success(let token):
                        engine.performAll(
                            engine.machine.tokenChanged(token, at: engine.scheduler.uptime))
                    case .failure(let error):
                        engine.log("the token could not be fetched: \(error.message)")
                    }
                })
        }
    }
}

// MARK: - Effects

extension DatabaseEngine {
    /// Performs the actions of the connection's machine.
    func performAll(_ effects: [ConnectionMachine.Effect]) {
        for effect in effects { perform(effect) }
    }

    private func perform(_ effect: ConnectionMachine.Effect) {
        switch effect {
        case .fetchToken(let attempt, let isForced): fetchToken(attempt, forcingRefresh: isForced)
        case .open(let attempt, let session): open(attempt, session)
        case .close: closeConnection()
        case .authenticate(let token): authenticate(token)
        case .discardToken: disk.setToken(nil)
        case .restore: restoreConnection()
        case .lost: loseConnection()
        case .report(let state, let reason): report(NetworkState(state, reason))
        case .schedule(let timer, let delay):
            setTimer(.connection(timer), after: delay) { $0.fired(timer) }
        case .cancel(let timer): cancelTimer(.connection(timer))
        }
    }

    private func fired(_ timer: ConnectionMachine.Timer) {
        switch timer {
        case .retry: performAll(machine.retryTimerFired())
        case .establishment:
            performAll(
                machine.establishmentTimerFired(
                    at: scheduler.uptime, jitter: scheduler.random()))
        }
    }

    private func fetchToken(_ attempt: Int, forcingRefresh: Bool) {
        guard let tokens = configuration.tokens else {
            return performAll(machine.tokenFetched(nil, attempt: attempt))
        }
        if !forcingRefresh, let token = disk.token {
            return performAll(machine.tokenFetched(token, attempt: attempt))
        }
        tokens.fetchToken(forcingRefresh: forcingRefresh) { [weak self] result in
            _ = self?.add(.perform { $0.tokenFetched(result, attempt) })
        }
    }

    private func tokenFetched(_ result: Result<String?, LarderError>, _ attempt: Int) {
        switch result {
        case .success(let token): performAll(machine.tokenFetched(token, attempt: attempt))
        case .failure(let error):
            performAll(
                machine.tokenFetchFailed(
                    error, attempt: attempt, at: scheduler.uptime, jitter: scheduler.random()))
        }
    }

    private func open(_ attempt: Int, _ session: String?) {
        connection = configuration.remote?.connect(ConnectRequest(lastSessionID: session)) {
            [weak self] event in
            _ = self?.add(.connection(event, attempt: attempt))
        }
    }

    private func closeConnection() {
        connection?.close()
        connection = nil
        authentication = nil
        roundTrip = .unmeasured
        setInfo("authenticated", false)
    }

    private func authenticate(_ token: String?) {
        let number = newRequestNumber()
        authentication = Authentication(number: number, token: token)
        noteRoundTrip(number)
        connection?.send(token.map { .authenticate(token: $0) } ?? .unauthenticate, number: number)
        if token == nil { setInfo("authenticated", false) }
    }

    /// The connection is ready: what waits is sent at the end of the turn.
    private func restoreConnection() {
        setInfo("connected", true)
    }

    private func loseConnection() {
        setInfo("connected", false)
        for key in serverListens.current { noteConfirmed(key.query) }
        tree.connectionLost()
        serverListens.disconnect()
        let (answers, lost) = outbox.disconnect(namesID: namesID)
        for answer in answers { receive(answer) }
        for id in lost { loseRequest(id) }
        performDisconnectOperations()
        loseGets()
        loseBarriers()
    }

    private func report(_ state: NetworkState) {
        guard state != networkState else { return }
        if case .streamFailed(let error) = state.reason, networkState.state != .offline {
            log("the server cannot be reached; writes wait: \(error.message)")
        }
        networkState = state
        let observers = networkObservers
        call(later: { observers.send(state) })
    }
}

// MARK: - Events

extension DatabaseEngine {
    /// An event of the connection of an attempt.
    func receive(_ event: ConnectionEvent, _ attempt: Int) {
        guard machine.isCurrent(attempt) else { return }
        let (now, jitter) = (scheduler.uptime, scheduler.random())
        switch event {
        case .opened(let hello):
            setServerTimeOffset(
                .milliseconds(
                    hello.serverTimeMilliseconds - configuration.clock().milliseconds))
            namesID = hello.namesID
            disk.setLastSession(hello.sessionID)
            hasNamedFormer = false
            loseUnknownRequests(besides: namesID)
            performAll(machine.greeted(session: hello.sessionID, attempt: attempt, at: now))
        case .response(let number, let response): receive(response, to: number, attempt)
        case .push(let push): receive(push, attempt)
        case .reset: performAll(machine.redirected(attempt: attempt, at: now))
        case .shutdown(let reason):
            log("the server asks its clients to stay away: \(reason)")
            performAll(machine.interrupt(.serverShutdown))
            loseUnknownRequests()
        case .closed(let error):
            let error = error ?? LarderError(realtime: .unavailable, "the connection was closed")
            performAll(machine.closed(error, attempt: attempt, at: now, jitter: jitter))
        }
    }

    private func receive(_ response: RealtimeResponse, to number: Int, _ attempt: Int) {
        measureRoundTrip(number)
        if let authentication, authentication.number == number {
            self.authentication = nil
            receive(response, to: authentication, attempt)
        } else if let answer = serverListens.answer(number) {
            if case .listen(let key, let disturbedHash) = answer {
                receive(response, toListen: key, disturbedHash)
            }
            deliverWithheldAnswers()
        } else if let answers = outbox.answer(
            number, response, isWithheld: serverListens.hasUnanswered)
        {
            for answer in answers { receive(answer) }
        } else if !receiveBarrier(number) {
            receive(response, toGet: number)
        }
    }

    private func receive(
        _ response: RealtimeResponse, to authentication: Authentication, _ attempt: Int
    ) {
        guard let token = authentication.token else { return }
        guard response.status == .ok else {
            return performAll(
                machine.tokenRefused(
                    response.error, attempt: attempt, at: scheduler.uptime,
                    jitter: scheduler.random()))
        }
        if configuration.keepsToken { disk.setToken(token) }
        setInfo("authenticated", true)
        performAll(machine.tokenAccepted(attempt: attempt))
    }

    /// - Parameter disturbedHash: the hash that the listen was sent with if other answers or data
    ///   may have changed its content since: the server may have confirmed the former content.
    private func receive(
        _ response: RealtimeResponse, toListen key: ServerListens.Key, _ disturbedHash: String?
    ) {
        if response.status == .ok {
            if let disturbedHash, tree.hashes(of: key.query).hash != disturbedHash {
                return serverListens.restart(key)
            }
            deliver(later: tree.listenCompleted(key.query.path, tag: key.tag))
            noteConfirmed(key.query)
        } else {
            _ = serverListens.remove(key)
            deliver(later: tree.cancel(key.query, response.error))
        }
        dataChanged(at: key.query.path)
    }

    /// Delivers answers to writes once the server has answered all listens.
    func deliverWithheldAnswers() {
        guard !serverListens.hasUnanswered else { return }
        for answer in outbox.deliverWithheld() { receive(answer) }
    }

    private func receive(_ push: RealtimePush, _ attempt: Int) {
        switch push {
        case .overwrite(let path, let node, let tag):
            receiveData(at: path, tag) {
                $0.listenReceives(path, tag: tag)
                return $0.serverOverwrite(path, node, tag: tag)
            }
        case .merge(let path, let values, let tag):
            receiveData(at: path, tag) { $0.serverMerge(path, values, tag: tag) }
        case .rangeMerge(let path, let merges, let tag):
            receiveData(at: path, tag) {
                $0.listenReceives(path, tag: tag)
                return $0.serverRangeMerge(path, merges, tag: tag)
            }
        case .listenRevoked(let path, let parameters):
            revoke(QuerySpec(path, parameters ?? .default))
        case .authenticationRevoked(let status, let reason):
            let error = RealtimeResponse(status, reason: reason).error
            performAll(
                machine.tokenRefused(
                    error, attempt: attempt, at: scheduler.uptime, jitter: scheduler.random()))
        case .securityDebug(let text):
            log("security rules: \(text)")
        }
    }

    /// Applies data, unless it belongs to a listen that has ended: a later listen may have been sent
    /// with the hash of what was known without it.
    private func receiveData(
        at path: TreePath, _ tag: Int?, _ apply: (inout SyncTree) -> [TreeEvent]
    ) {
        guard serverListens.expectsData(at: path, tag: tag) else { return }
        deliver(later: apply(&tree))
        dataChanged(at: path)
    }

    private func revoke(_ query: QuerySpec) {
        let error = RealtimeResponse(.permissionDenied).error
        deliver(later: tree.cancel(query, error))
        for key in serverListens.keys(of: query) { _ = serverListens.remove(key) }
        deliverWithheldAnswers()
    }
}

// MARK: - Time and state

extension DatabaseEngine {
    /// Notes the first request of a connection.
    func noteRoundTrip(_ number: Int) {
        guard case .unmeasured = roundTrip else { return }
        roundTrip = .waiting(number: number, since: scheduler.uptime)
    }

    /// The greeting was on its way for half a round trip: the server's clock has gone on.
    private func measureRoundTrip(_ number: Int) {
        guard case .waiting(number, let start) = roundTrip else { return }
        roundTrip = .measured
        setServerTimeOffset(serverTimeOffset + (scheduler.uptime - start) / 2)
    }

    private func setServerTimeOffset(_ offset: Duration) {
        serverTimeOffset = offset
        setInfo("serverTimeOffset", Node(.integer(offset.wholeMilliseconds)))
    }

    func setInfo(_ name: String, _ flag: Bool) {
        setInfo(name, Node(.boolean(flag)))
    }

    /// Changes what the client says of itself below `.info`.
    func setInfo(_ name: String, _ node: Node) {
        deliver(later: info.set(TreePath([ChildKey(name)]), to: node))
    }
}

// MARK: - Errors

extension RealtimeResponse {
    /// The error of an answer that is not ok.
    var error: LarderError {
        let (kind, text): (LarderError.Code, String) =
            switch status {
            case .permissionDenied: (.permissionDenied, "Permission Denied")
            case .unavailable: (.unavailable, "Service is unavailable")
            case .dataStale: (.aborted, status.rawValue)
            case .expiredToken, .invalidToken: (.unauthenticated, status.rawValue)
            default: (.unknown, status.rawValue)
            }
        return LarderError(realtime: kind, reason ?? text)
    }
}
