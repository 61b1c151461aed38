package import LarderRealtimeModel
package import LarderRealtimeRemote
package import LarderRealtimeRules

/// The result of a read.
package enum ReadResult: Sendable {
    case content(Node)
    case denied
    /// The query is invalid.
    case invalid(String)
    /// The rules' `.indexOn` has no such order at the query's location.
    case missingIndex(String)
}

/// The result of a write.
package enum WriteResult: Sendable {
    /// The write is applied, with its deferred values computed.
    case written(TreeWrite)
    case denied
    /// The write is invalid.
    case invalid(String)
    /// The present node has another hash than the write is for.
    case stale(Node)
}

/// Requests of services that have no connection for each client. Completions are called on the
/// backend's thread.
extension RealtimeBackend {
    /// The time, in milliseconds since the Unix epoch.
    package var milliseconds: Int64 { configuration.clock().milliseconds }

    /// The decision about a token at this time.
    package func user(of token: String) -> TokenDecision {
        let decision = configuration.tokens(token)
        if case .valid(let user) = decision, let expiration = user.expiration,
            expiration.milliseconds <= milliseconds
        {
            return .expired
        }
        return decision
    }

    /// The security rules of a namespace; nil for none.
    package func securityRules(of namespace: String) -> SecurityRules? {
        settings.securityRules(of: namespace)
    }

    /// Reads a query, which needs an index unless the user is an administrator or there are no
    /// security rules.
    ///
    /// A path that ends in `.priority` is read as a priority.
    ///
    /// - Parameter client: the client that takes its turn; nil for the server itself.
    package func read(
        _ query: QuerySpec, as user: RealtimeUser?, in namespace: String = defaultNamespace,
        for client: ObjectIdentifier? = nil,
        _ completion: @escaping @Sendable (Result<ReadResult, LarderError>) -> Void
    ) {
        server(of: namespace).perform(for: client) { $0.read(query, as: user, completion) }
    }

    /// Applies a write.
    ///
    /// - Parameters:
    ///   - hash: the hash that the present node must have; nil for any.
    ///   - client: the client that takes its turn; nil for the server itself.
    ///   - completion: called when the write is stored; `unavailable` if that fails.
    package func write(
        _ write: TreeWrite, ifHash hash: String? = nil, as user: RealtimeUser?,
        in namespace: String = defaultNamespace, for client: ObjectIdentifier? = nil,
        _ completion: @escaping @Sendable (Result<WriteResult, LarderError>) -> Void
    ) {
        server(of: namespace).perform(for: client) {
            $0.write(write, ifHash: hash, as: user, completion)
        }
    }

    /// Listens to a query on a connection of its own, which receives its whole content first.
    package func listen(
        to query: QuerySpec, as user: RealtimeUser?, in namespace: String = defaultNamespace,
        _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        let server = server(of: namespace)
        let channel = Channel(handler)
        server.perform(for: channel, isRead: false) { $0.listen(to: query, as: user, on: channel) }
        return BackendConnection(server: server, channel: channel)
    }
}

extension TreeServer {
    fileprivate func read(
        _ query: QuerySpec, as user: RealtimeUser?,
        _ completion: @escaping @Sendable (Result<ReadResult, LarderError>) -> Void
    ) {
        deliverLater(read(query, as: user), completion)
    }

    /// Delivers a result at the end of the turn, unless the turn is taken back.
    func deliverLater<Value: Sendable>(
        _ result: Result<Value, LarderError>,
        _ completion: @escaping @Sendable (Result<Value, LarderError>) -> Void
    ) {
        deliverLater(
            .answer(RealtimeResponse(.ok)) { response in
                guard response.status == .ok else {
                    let reason = response.reason ?? "the storage has failed"
                    return completion(.failure(LarderError(realtime: .unavailable, reason)))
                }
                completion(result)
            })
    }

    private func read(
        _ query: QuerySpec, as user: RealtimeUser?
    ) -> Result<ReadResult, LarderError> {
        if isClosing { return .failure(BackendSettings.closed) }
        do throws(LarderError) {
            try query.validate(allowsPriority: query.isDefault)
        } catch {
            return .success(.invalid(error.message))
        }
        guard mayRead(query, user) else { return .success(.denied) }
        if user?.isAdministrator != true,
            let index = securityRules?.missingIndex(of: query)
        {
            return .success(.missingIndex(index))
        }
        return content(of: query, for: nil).map { .content($0) }
    }

    fileprivate func write(
        _ write: TreeWrite, ifHash hash: String?, as user: RealtimeUser?,
        _ completion: @escaping @Sendable (Result<WriteResult, LarderError>) -> Void
    ) {
        deliverLater(.success(make(write, ifHash: hash, as: user)), completion)
    }

    fileprivate func listen(to query: QuerySpec, as user: RealtimeUser?, on channel: Channel) {
        open(channel, ConnectRequest())
        guard let session = sessions[channel] else { return }
        setUser(user, of: session)
        // No content has this hash, so that all of it is sent.
        let request = RealtimeRequest.listen(
            query, tag: query.loadsAllData ? nil : 0, hash: "none", compoundHash: nil)
        serve(request, number: 1, from: channel)
    }
}
