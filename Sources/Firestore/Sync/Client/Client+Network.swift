package import LarderDocumentStore
package import LarderModel

extension Client {
    /// Uses the network from now on; without a remote there is nothing to use it for.
    package func enableNetwork(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setNetwork(enabled: true, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Uses the network no longer: listeners hear from the cache, writes stay pending.
    package func disableNetwork(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { $0.setNetwork(enabled: false, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    /// Speaks to the backend anew and at once, instead of when the next attempt is due.
    package func reconnect() {
        perform { $0.remoteStore.restart() }
    }

    /// Whether the backend can be reached, as far as the client knows.
    package var networkState: NetworkState { engine.networkState }

    /// Calls a closure with whether the backend can be reached, now and after each change.
    package func observeNetworkState(
        _ deliver: @escaping @Sendable (NetworkState) -> Void
    ) -> ClientRegistration {
        let id = engine.newID()
        perform {
            $0.observers.network.add(id, deliver)
            deliver($0.networkState)
        }
        return ClientRegistration { [weak self] in
            self?.perform { $0.observers.network.remove(id) }
        }
    }

    /// Whose writes are made and seen.
    package var user: UserID { engine.session.user }

    /// Makes and sees the writes of a user from now on, and speaks to the backend as that user.
    ///
    /// Writes of the user before stay pending until that user comes back. The same user again
    /// means new credentials.
    package func setUser(
        _ user: UserID,
        completion: @escaping @Sendable (Result<Void, LarderError>) -> Void = { _ in }
    ) {
        perform(
            { $0.setUser(user, completion) },
            otherwise: { completion(.failure(Self.terminated)) })
    }

    // MARK: Sharing

    /// Says whether somebody looks at the client, who then is preferred as primary.
    ///
    /// Does nothing for a client that does not share its store.
    package func setForeground(_ isForeground: Bool) {
        perform { engine in
            engine.multiClient?.isForeground = isForeground
            engine.renewLease()
        }
    }

    /// Makes the client the primary, whoever is it now: another loses the network when it next
    /// looks.
    ///
    /// Nothing changes for a client that does not share its store.
    package func takeLease(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        perform(
            { engine in
                engine.renewLease(isForced: true)
                completion(.success(()))
            }, otherwise: { completion(.failure(Self.terminated)) })
    }
}
