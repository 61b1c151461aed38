import LarderDocumentStore
import LarderModel
import LarderQuery

/// A bundle that is being loaded.
struct BundleLoad: Sendable {
    var loader: BundleLoader
    /// Whose view of its documents the loader gives.
    let user: UserID
    let source: any BundleSource
    let progress: @Sendable (LoadBundleProgress) -> Void
    let completion: @Sendable (Result<LoadBundleProgress, LarderError>) -> Void
}

/// Bundles are loaded in parts, each a request of its own, so that others come between.
extension Engine {
    func loadBundle(
        from source: any BundleSource, _ progress: @escaping @Sendable (LoadBundleProgress) -> Void,
        _ completion: @escaping @Sendable (Result<LoadBundleProgress, LarderError>) -> Void
    ) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        let id = newID()
        bundles[id] = BundleLoad(
            loader: BundleLoader(localStore), user: session.user, source: source,
            progress: progress, completion: completion)
        readOn(id)
    }

    private func readOn(_ id: ID) {
        bundles[id]?.source.read { [weak self] result in
            _ = self?.add(.perform { $0.take(result, id) })
        }
    }

    private func take(_ result: Result<[UInt8], LarderError>, _ id: ID) {
        switch result {
        case .success(let bytes) where bytes.isEmpty: finishBundle(id)
        case .success(let bytes):
            bundles[id]?.loader.append(bytes)
            stepBundle(id)
        case .failure(let error): endBundle(id, error)
        }
    }

    private func stepBundle(_ id: ID) {
        guard var load = bundles[id] else { return }
        do throws(LarderError) {
            let step = try load.loader.step()
            bundles[id] = load
            guard let step else { return readOn(id) }
            try apply(step, of: load)
            if load.loader.isComplete { return endBundle(id, nil) }
            _ = add(.perform { $0.stepBundle(id) })
        } catch {
            bundles[id] = load
            endBundle(id, error)
        }
    }

    private func finishBundle(_ id: ID) {
        guard var load = bundles[id] else { return }
        var (step, failure) = (BundleStep(), LarderError?.none)
        do throws(LarderError) {
            try load.loader.finish(&step) { [targets] in targets.data(of: $0) }
        } catch {
            failure = error
        }
        bundles[id] = load
        do throws(LarderError) {
            // What was cached before an error stays.
            try apply(step, of: load)
        } catch {
            failure = failure ?? error
        }
        endBundle(id, failure)
    }

    private func apply(_ step: BundleStep, of load: BundleLoad) throws(LarderError) {
        for target in step.targets {
            targets.update([target.id: target])
            // As if it were listened to, for as long as this client lives.
            if bundleTargets.insert(target.id).inserted { try store.pin(target: target.id) }
        }
        if load.user == session.user {
            apply(step.changes)
        } else {
            try applyForOtherUser(step.changes)
        }
        collect()
        for progress in step.progress { load.progress(progress) }
    }

    /// Applies changes that another user has seen, now that somebody else looks.
    private func applyForOtherUser(_ changes: [LocalViewChange]) throws(LarderError) {
        let user = session.user
        let changes = try store.read { (transaction) throws(LarderError) in
            var seen: [LocalViewChange] = []
            for change in changes {
                let document = try transaction.document(at: change.path, asSeenBy: user)
                seen.append(LocalViewChange(path: change.path, before: nil, after: document))
            }
            return seen
        }
        finish(views.apply(changes, knowsFormerStates: false, refill: refill))
    }

    private func endBundle(_ id: ID, _ error: LarderError?) {
        guard let load = bundles.removeValue(forKey: id) else { return }
        var progress = load.loader.progress
        guard let error else { return load.completion(.success(progress)) }
        progress.state = .error
        load.progress(progress)
        load.completion(.failure(error))
    }

    /// Ends all that are being loaded.
    func failBundles(_ error: LarderError) {
        for id in bundles.keys.sorted() { endBundle(id, error) }
    }
}
