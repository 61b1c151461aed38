package import LarderModel
package import LarderQuery

/// What adding a listener asks of the caller.
package struct AddedListener: Sendable {
    /// The view that it listens to.
    package let view: ViewID
    /// Whether the query is new: run it, and hand the result to
    /// ``ActiveViews/load(_:_:remoteKeys:target:refill:)``.
    package let needsLoad: Bool
    /// Whether the backend is to be asked for the query, once it has its result.
    package let startsRemote: Bool
    /// What is told at once.
    package let step: ViewStep
}

/// What removing a listener asks of the caller.
package struct RemovedListener: Sendable {
    /// The view that it listened to.
    package let view: ViewID
    /// Whether the view has ended with its last listener.
    package let endsView: Bool
    /// Whether the backend is no longer to be asked for the query.
    package let stopsRemote: Bool
    /// What has changed; tells no listener anything.
    package let step: ViewStep
}

extension ActiveViews {
    /// Adds a listener to a query.
    ///
    /// The first one of a query makes the caller run it; later ones are shown what is there. A
    /// listener of the backend that joins listeners of the cache starts the remote side alone.
    ///
    /// - Parameter id: a number that no listener has; one that is taken is removed first.
    package mutating func addListener(
        _ id: ListenerID, to query: Query, options: ListenOptions = ListenOptions()
    ) -> AddedListener {
        if isListening(id) { _ = removeListener(id) }
        let known = viewsByQuery[query]
        let view = known ?? beginView(of: query)
        let hadRemote = views[view]?.wantsRemote ?? false
        var step = ViewStep()
        views[view]?.view.confirm(through: snapshotVersion)
        views[view]?.add(id, QueryListener(options: options, onlineState: onlineState), &step)
        viewsByListener[id] = view
        return AddedListener(
            view: view, needsLoad: known == nil,
            startsRemote: options.source == .default && !hadRemote, step: step)
    }

    /// Keeps a view of a query that nobody listens to here.
    ///
    /// - Returns: the view, and whether it is new: run the query, as for a listener's.
    mutating func addView(of query: Query) -> (view: ViewID, needsLoad: Bool) {
        if let known = viewsByQuery[query] { return (known, false) }
        return (beginView(of: query), true)
    }

    private mutating func beginView(of query: Query) -> ViewID {
        let id = newViewID()
        views[id] = ActiveView(View(query, comparator: prepared.comparator(of: query)))
        viewsByQuery[query] = id
        loading.insert(id)
        dispatch.insert(id, query)
        return id
    }

    /// Removes a listener, and the view with its last one.
    ///
    /// The remote side stops with the last listener that wanted it, even if listeners of the
    /// cache stay.
    ///
    /// - Parameters:
    ///   - id: the listener.
    ///   - keepsView: whether the view stays without it.
    /// - Returns: nil for a listener that is not there, or is no longer.
    package mutating func removeListener(
        _ id: ListenerID, keepsView: Bool = false
    ) -> RemovedListener? {
        guard let view = viewsByListener.removeValue(forKey: id) else { return nil }
        let hadRemote = views[view]?.wantsRemote ?? false
        views[view]?.remove(id)
        let endsView = !keepsView && !hasListeners(view)
        let stopsRemote = hadRemote && !(views[view]?.wantsRemote ?? false)
        if endsView { end(view) }
        var step = ViewStep()
        step.pinnedPaths = held.takeChange()
        return RemovedListener(
            view: view, endsView: endsView, stopsRemote: stopsRemote, step: step)
    }

    /// Ends a view that nobody listens to.
    mutating func endView(_ view: ViewID) -> ViewStep {
        var step = ViewStep()
        end(view)
        step.endedViews.append(view)
        step.pinnedPaths = held.takeChange()
        return step
    }

    /// Ends a view whose query could not be run or was rejected: its listeners are told and
    /// forgotten.
    package mutating func fail(_ view: ViewID, _ error: LarderError) -> ViewStep {
        var step = ViewStep()
        fail(view, error, &step)
        step.pinnedPaths = held.takeChange()
        return step
    }

    /// Tells listeners that still wait for a first snapshot that there will be none.
    func failWaiting(_ error: LarderError) -> ViewStep {
        var step = ViewStep()
        for id in views.keys.sorted() {
            for listener in views[id]?.listeners ?? [] where listener.listener.isWaiting {
                step.deliver(error, to: listener.id)
            }
        }
        return step
    }

    mutating func fail(_ view: ViewID, _ error: LarderError, _ step: inout ViewStep) {
        for listener in views[view]?.listeners ?? [] { step.deliver(error, to: listener.id) }
        end(view)
        step.endedViews.append(view)
    }
}
