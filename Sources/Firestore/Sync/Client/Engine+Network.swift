import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderRemote

extension Engine {
    /// Begins to use the network: sends the writes that an earlier process left.
    func startNetwork() {
        guard remote != nil else { return }
        remoteStore.fillWritePipeline()
    }

    /// Ends every stream and timer for good.
    func endNetwork() {
        remoteStore.shutdown()
        pump()
        for cancel in timers.values { cancel() }
        timers = [:]
        watchStream?.close()
        writeStream?.close()
        (watchStream, writeStream) = (nil, nil)
    }

    /// Uses the network, or does not, because the application wants it so.
    func setNetwork(enabled: Bool, _ completion: Completion) {
        if enabled {
            remoteStore.enableNetwork(reason: .user)
        } else {
            remoteStore.disableNetwork(reason: .user)
        }
        pump()
        if let membership, membership.usesNetwork != (enabled && remote != nil) {
            // What the primary knows of the network it tells as long as it is the primary.
            tellOthers()
            self.membership?.usesNetwork = enabled && remote != nil
            renewLease()
        }
        completion(.success(()))
    }

    /// Takes in what this client's own streams know of the network.
    func apply(own new: NetworkState) {
        guard remote != nil else { return }
        var new = new
        if let known = membership?.ownState {
            membership?.ownState = new
            guard isPrimary else { return }
            // What clients know of the network goes on from one primary to the next, until the
            // new one knows otherwise.
            let old = networkState
            let isShown = new.state != known.state || new.state == old.state
            let isHeard =
                new.listenerState != known.listenerState || new.listenerState == old.listenerState
            guard isShown || isHeard else { return }
            new = NetworkState(
                isShown ? new.state : old.state, isShown ? new.reason : old.reason,
                listeners: isHeard ? new.listenerState : old.listenerState,
                isSilent: isHeard ? new.isSilent : old.isSilent)
        }
        guard new != networkState else { return }
        show(new)
        membership?.unsent.network = new
    }

    /// Tells the views and the observers what is known of the network.
    func show(_ new: NetworkState) {
        let old = networkState
        networkState = new
        finish(views.apply(new.listenerState, isSilent: new.isSilent))
        guard new.state != old.state || new.reason != old.reason else { return }
        for deliver in networkObservers.valuesInOrder { deliver(new) }
    }

    func addNetworkObserver(_ id: ID, _ deliver: @escaping @Sendable (NetworkState) -> Void) {
        networkObservers[id] = deliver
        deliver(networkState)
    }

    func removeNetworkObserver(_ id: ID) {
        networkObservers[id] = nil
    }

    // MARK: The user

    /// Shows the view of a user from now on, and speaks to the backend as that user.
    ///
    /// The same user again means new credentials: the streams are opened anew.
    func setUser(_ user: UserID, _ completion: @escaping Completion) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        attempt(.userChange, orElse: { completion(.failure($0)) }) {
            (engine) throws(LarderError) in
            try engine.changeUser(user)
            completion(.success(()))
        }
    }

    private func changeUser(_ user: UserID) throws(LarderError) {
        let old = session
        if user != old.user {
            let changes = try old.localStore.changes(whenUserBecomes: user)
            failPendingWaiters(
                LarderError(
                    .cancelled,
                    "waiting for pending writes was cancelled because the user has changed"))
            // What is wished of the primary is wished by the user before.
            tellOthers()
            replaceSession(old.as(user))
            apply(changes)
            pendingObservers.noteChange()
            deadLetterObservers.noteChange()
        }
        remoteStore.restart()
    }
}
