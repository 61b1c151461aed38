import LarderDocumentStore
import LarderModel
import LarderQuery

/// What the primary does for other clients.
extension Engine {
    /// Whether a listener of this client wants to hear of a target from the backend.
    func isWantedHere(_ id: Int32) -> Bool {
        targets.views(of: id).contains { views.wantsRemote($0) }
    }

    /// Whether anybody does for whom this client uses the network.
    func isWanted(_ id: Int32) -> Bool { isWantedHere(id) || isWantedByOthers(id) }

    private func isWantedByOthers(_ id: Int32) -> Bool {
        membership?.isPrimary == true && membership?.others.contains(id) == true
    }

    /// Whether a view must stay although nobody listens to it here.
    func isKeptForOthers(_ view: ViewID) -> Bool {
        guard let id = targets.id(of: view) else { return false }
        return targets.views(of: id) == [view] && isWantedByOthers(id)
    }

    /// Asks the backend for targets that another client wants to hear of.
    func watch(_ ids: Set<Int32>) throws(LarderError) {
        let missing = try findTargets(ids.filter { targets[$0] == nil })
        for id in ids.sorted() where targets[id]?.isRemote == false {
            targets.setRemote(id, true)
            listen(to: id)
        }
        for data in missing { keepView(of: data) }
    }

    /// Looks up targets; those that are not stored are passed over.
    func findTargets(_ ids: Set<Int32>) throws(LarderError) -> [TargetData] {
        var found: [TargetData] = []
        for id in ids.sorted() {
            guard let data = try localStore.targetData(id) else { continue }
            found.append(try localStore.allocateTarget(data.target))
        }
        return found
    }

    /// Keeps a view of a target that is wanted elsewhere, and asks the backend for it.
    func keepView(of data: TargetData) {
        let query = data.target.query
        let (view, needsLoad) = views.addView(of: query)
        if targets.id(of: view) == nil { attach(view, to: data) }
        if needsLoad { load(view, data.id) } else { startRemote(view) }
    }

    /// Another client does not want to hear of targets any more.
    func release(_ ids: Set<Int32>, of client: String) throws(LarderError) {
        membership?.others.end(ids, of: client)
        do throws(LarderError) {
            try releaseUnwanted(ids)
        } catch {
            // It is done again, and must find that the client has wanted them.
            membership?.others.begin(ids, of: client)
            throw error
        }
    }

    /// Lets targets go that another client has wanted, unless somebody else does.
    func releaseUnwanted(_ ids: Set<Int32>) throws(LarderError) {
        for id in ids.sorted() where !isWanted(id) {
            guard let entry = targets[id] else { continue }
            if entry.views.contains(where: { views.hasListeners($0) }) {
                stopRemoteIfUnwanted(id)
                continue
            }
            try localStore.releaseTarget(entry.data)
            for view in entry.views { finish(views.endView(view)) }
        }
    }
}
