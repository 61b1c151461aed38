package import HashTreeCollections
package import LarderModel
package import LarderQuery

extension ActiveViews {
    /// Forgets the changes that a new view has missed, for a result that includes them.
    package mutating func discardMissed(_ view: ViewID) {
        views[view]?.discardMissed()
    }

    /// Applies the first result of a new view, and then, one by one, the changes since its query
    /// began.
    ///
    /// Does nothing for a view that has ended or is loaded.
    ///
    /// - Parameters:
    ///   - result: the output of ``View/computeInitialChanges(_:)`` for the documents of a commit
    ///     since the listener was added.
    ///   - remoteKeys: the documents that the backend is known to have in the query's target.
    ///   - target: the present state of the target, for a view with a remote side.
    ///   - refill: runs the query on the present store; returns its documents in order, up to the
    ///     limit.
    package mutating func load(
        _ view: ViewID, _ result: View.Update, remoteKeys: TreeSet<DocumentPath> = [],
        target: View.TargetChange? = nil,
        refill: (Query) throws(LarderError) -> [Document]
    ) -> ActiveViews.Effects {
        var step = ActiveViews.Effects()
        guard let missed = views[view]?.finishLoading(remoteKeys: remoteKeys) else { return step }
        loading.remove(view)
        do throws(LarderError) {
            let first = try compute(missed, for: view, after: result, refill)
            apply(
                first, to: view, target: missed.steps.isEmpty ? target : target?.ofEarlierResult,
                &step)
            for (index, changes) in missed.steps.enumerated() {
                let later = missed.steps[(index + 1)...]
                let update = try compute(
                    changes.merged, for: view, after: nil, before: later, refill)
                apply(update, to: view, target: later.isEmpty ? target : nil, &step)
            }
        } catch {
            fail(view, error, &step)
        }
        windows[view] = nil
        step.pinnedPaths = documentIndex.takeChange()
        return step
    }

    /// The first result of a new view: with the changes that were to be included, and without the
    /// steps.
    private mutating func compute(
        _ missed: MissedChanges, for id: ViewID, after result: View.Update,
        _ refill: (Query) throws(LarderError) -> [Document]
    ) throws(LarderError) -> View.Update {
        var update = result
        if !missed.included.isEmpty {
            update = try compute(
                missed.included.map { LocalChange(path: $0.key, before: nil, after: $0.value) },
                for: id, after: update, before: [], refill)
        }
        guard !missed.steps.isEmpty, let view = views[id]?.view else { return update }
        let former = missed.steps.joined().formerStates
        let found =
            view.query.limit == nil
            ? Array(update.documents) : try refill(view.query.extended(by: former.count))
        let matcher = try prepared.matcher(of: view.query, for: id)
        return view.computeInitialChanges(
            found.replacing(former, matching: matcher, by: view.documents.comparator))
    }

    /// Applies the changes of commits to all views, as one step.
    ///
    /// - Parameters:
    ///   - changes: in the order of the commits; the last change of a document is used.
    ///   - knowsFormerStates: whether the changes have former states, which loading views rely on.
    ///   - targets: changes of the views' targets.
    ///   - pendingResets: views whose targets are requested again from scratch.
    ///   - later: the changes of later steps of the same commit, in order.
    ///   - refill: runs a query on the store with all changes, later ones too; returns its documents
    ///     in order, up to the limit.
    package mutating func apply(
        _ changes: [LocalChange], knowsFormerStates: Bool = true,
        targets: [ViewID: View.TargetChange] = [:],
        pendingResets: Set<ViewID> = [], before later: ArraySlice<[LocalChange]> = [],
        refill: (Query) throws(LarderError) -> [Document]
    ) -> ActiveViews.Effects {
        var step = ActiveViews.Effects()
        guard !views.isEmpty else { return step }
        let changes = changes.merged
        var touched = route(changes, alsoTo: knowsFormerStates ? [] : loading)
        examinedViewCount += touched.count
        for (view, target) in targets {
            guard let index = views.index(forKey: view) else { continue }
            if views.values[index].hear(target) { touched[view, default: []] += [] }
        }
        for view in pendingResets { touched[view, default: []] += [] }
        for view in unconfirmed where views[view]?.view.note(snapshotVersion) == true {
            touched[view, default: []] += []
        }
        for (view, positions) in touched.sorted(by: { $0.key < $1.key }) {
            guard let index = views.index(forKey: view) else { continue }
            let updates = positions.lazy.map { changes[$0] }
            if views.values[index].isLoading {
                views.values[index].miss(updates, knowsFormerStates: knowsFormerStates)
                continue
            }
            do throws(LarderError) {
                let changes = try compute(
                    updates, for: view, after: nil, before: later, refill)
                apply(
                    changes, to: view, target: targets[view],
                    isPendingReset: pendingResets.contains(view), &step)
            } catch {
                fail(view, error, &step)
            }
        }
        if later.isEmpty, !windows.isEmpty { windows = [:] }
        step.pinnedPaths = documentIndex.takeChange()
        return step
    }

    /// The views that changes may touch, each with the positions of these changes.
    private func route(
        _ changes: [LocalChange], alsoTo others: Set<ViewID>
    ) -> [ViewID: [Int]] {
        var touched: [ViewID: [Int]] = [:]
        for (position, change) in changes.enumerated() {
            func append(to positions: inout [Int]) {
                // One change may name a view several times, but only in a row.
                if positions.last != position { positions.append(position) }
            }
            let add = { append(to: &touched[$0, default: []]) }
            let states = [change.before, change.after].compactMap {
                $0?.exists == true ? $0?.record : nil
            }
            dispatch.forEachView(of: change.path, states: states, add)
            documentIndex.forEachView(with: change.path, add)
            others.forEach(add)
        }
        return touched
    }

    private mutating func compute(
        _ updates: some Collection<LocalChange>, for id: ViewID, after previous: View.Update?,
        before later: ArraySlice<[LocalChange]>,
        _ refill: (Query) throws(LarderError) -> [Document]
    ) throws(LarderError) -> View.Update {
        guard let view = views[id]?.view else {
            throw LarderError(.internal, "a view has ended while changes were computed for it")
        }
        let matcher = updates.isEmpty ? nil : try prepared.matcher(of: view.query, for: id)
        let changes = view.computeChanges(updates, matcher: matcher, after: previous)
        if let matcher { windows[id]?.apply(updates, matching: matcher) }
        guard changes.needsRefill, let limit = view.query.limit else { return changes }
        let result: [Document]
        if later.isEmpty, windows[id] == nil {
            result = try refill(view.query)
        } else {
            result = try window(of: view, id, before: later, refill).results(limit)
        }
        // The result is all that the limit lets in, so that no further refill can be needed.
        return view.computeChanges(
            result.lazy.map { LocalChange(path: $0.path, before: nil, after: $0) },
            matcher: nil, after: changes)
    }

    /// The window of a limited view for the rest of a commit, which is made when there is none.
    private mutating func window(
        of view: View, _ id: ViewID, before later: ArraySlice<[LocalChange]>,
        _ refill: (Query) throws(LarderError) -> [Document]
    ) throws(LarderError) -> CommitWindow {
        if let window = windows[id] { return window }
        let former = later.joined().formerStates
        let found = try refill(view.query.extended(by: former.count))
        let matcher = try prepared.matcher(of: view.query, for: id)
        let comparator = view.documents.comparator
        let window = CommitWindow(
            found.replacing(former, matching: matcher, by: comparator), by: comparator)
        windows[id] = window
        return window
    }
}
