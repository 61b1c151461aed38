package import LarderModel

extension Client {
    /// Says whether somebody looks at the client, who then is preferred as primary.
    ///
    /// Does nothing for a client that does not share its store.
    package func setForeground(_ isForeground: Bool) {
        perform { engine in
            engine.membership?.isForeground = isForeground
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
