import LarderDocumentStore
package import LarderModel
import LarderQuery

/// Reads the bytes of a bundle.
package protocol BundleSource: Sendable {
    /// - Parameter completion: called once, on any thread, with the next bytes, empty at the end.
    func read(_ completion: @escaping @Sendable (Result<[UInt8], LarderError>) -> Void)
}

/// The bundles that are being loaded, and the targets that keep their documents from eviction.
struct BundleLoads {
    /// A bundle that is being loaded.
    struct Load: Sendable {
        var loader: BundleLoader
        /// The user whose view of the documents the loader returns.
        let user: UserID
        let source: any BundleSource
        let progress: @Sendable (LoadBundleProgress) -> Void
        let completion: @Sendable (Result<LoadBundleProgress, LarderError>) -> Void
    }

    var loads: [Engine.ID: Load] = [:]
    private var targets: Set<Int32> = []

    /// Notes a target that a bundle has brought.
    ///
    /// - Returns: whether it is new, and is to be pinned for as long as the client lives.
    mutating func add(target id: Int32) -> Bool { targets.insert(id).inserted }

    /// Ends the loading of a bundle, with an error or without.
    mutating func end(_ id: Engine.ID, _ error: LarderError?) {
        guard let load = loads.removeValue(forKey: id) else { return }
        var progress = load.loader.progress
        guard let error else { return load.completion(.success(progress)) }
        progress.state = .error
        load.progress(progress)
        load.completion(.failure(error))
    }

    /// Ends the loading of all bundles with an error.
    mutating func fail(_ error: LarderError) {
        for id in loads.keys.sorted() { end(id, error) }
    }
}

/// Bundles are loaded in parts, each a request of its own, so that other requests come between.
extension Engine {
    func loadBundle(
        from source: any BundleSource, _ progress: @escaping @Sendable (LoadBundleProgress) -> Void,
        _ completion: @escaping @Sendable (Result<LoadBundleProgress, LarderError>) -> Void
    ) {
        guard !isTerminated else { return completion(.failure(Client.terminated)) }
        let id = newID()
        bundles.loads[id] = BundleLoads.Load(
            loader: BundleLoader(localStore), user: session.user, source: source,
            progress: progress, completion: completion)
        readMore(id)
    }

    private func readMore(_ id: ID) {
        bundles.loads[id]?.source.read { [weak self] result in
            _ = self?.add(.perform { $0.take(result, id) })
        }
    }

    private func take(_ result: Result<[UInt8], LarderError>, _ id: ID) {
        switch result {
        case .success(let bytes) where bytes.isEmpty: finishBundle(id)
        case .success(let bytes):
            bundles.loads[id]?.loader.append(bytes)
            stepBundle(id)
        case .failure(let error): bundles.end(id, error)
        }
    }

    private func stepBundle(_ id: ID) {
        guard var load = bundles.loads[id] else { return }
        do throws(LarderError) {
            let step = try load.loader.step()
            bundles.loads[id] = load
            guard let step else { return readMore(id) }
            try apply(step, of: load)
            if load.loader.isComplete { return bundles.end(id, nil) }
            _ = add(.perform { $0.stepBundle(id) })
        } catch {
            bundles.loads[id] = load
            bundles.end(id, error)
        }
    }

    private func finishBundle(_ id: ID) {
        guard var load = bundles.loads[id] else { return }
        var (step, failure) = (BundleStep(), LarderError?.none)
        do throws(LarderError) {
            try load.loader.finish(&step) { [targets] in targets.data(of: $0) }
        } catch {
            failure = error
        }
        bundles.loads[id] = load
        do throws(LarderError) {
            // Documents cached before an error stay.
            try apply(step, of: load)
        } catch {
            failure = failure ?? error
        }
        bundles.end(id, failure)
    }

    private func apply(_ step: BundleStep, of load: BundleLoads.Load) throws(LarderError) {
        for target in step.targets {
            targets.update([target.id: target])
            if bundles.add(target: target.id) { try store.pin(target: target.id) }
        }
        if load.user == session.user {
            apply(step.changes)
        } else {
            try applyForOtherUser(step.changes)
        }
        collect()
        for progress in step.progress { load.progress(progress) }
    }

    /// Applies changes as a former user sees them, now that another user is shown.
    private func applyForOtherUser(_ changes: [LocalChange]) throws(LarderError) {
        let user = session.user
        let changes = try store.read { (transaction) throws(LarderError) in
            var seen: [LocalChange] = []
            for change in changes {
                let document = try transaction.document(at: change.path, asSeenBy: user)
                seen.append(LocalChange(path: change.path, before: nil, after: document))
            }
            return seen
        }
        finish(views.apply(changes, knowsFormerStates: false, refill: refill))
    }
}
