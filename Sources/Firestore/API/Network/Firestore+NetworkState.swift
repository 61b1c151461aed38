import LarderModel
import LarderSync

extension Firestore {
    /// Whether the backend can be reached, as far as the database knows; asks nothing.
    public var networkState: NetworkState {
        if connection.isTerminated { return NetworkState(.unknown, .terminated) }
        if !connection.configuration.hasBackend { return NetworkState(.offline, .noBackend) }
        guard let client = connection.existingClient else {
            return NetworkState(.unknown, .notAsked)
        }
        return NetworkState(client.networkState)
    }

    /// Whether the backend can be reached, now and after each change.
    ///
    /// Only the newest state waits for the loop: a slow one leaves out states, never the last.
    public var networkStates: SnapshotSequence<NetworkState> {
        SnapshotSequence(.bufferingNewest(1)) { [self] deliver in
            let registration = Registration()
            do throws(LarderError) {
                let client = try connection.client()
                guard connection.configuration.hasBackend else {
                    deliver(.success(NetworkState(.offline, .noBackend)))
                    return registration
                }
                registration.attach(
                    client.observeNetworkState { state in
                        guard registration.isActive else { return }
                        deliver(.success(NetworkState(state)))
                    })
            } catch {
                deliver(.failure(error))
            }
            return registration
        }
    }

    /// Tries the backend again at once, instead of when the next attempt is due.
    ///
    /// For a program that knows more of the network than a failed attempt tells: that it is back,
    /// or another one. Does nothing without a backend, or before the first use.
    public func reconnect() {
        connection.existingClient?.reconnect()
    }
}
