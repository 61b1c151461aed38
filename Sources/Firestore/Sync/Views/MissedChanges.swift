import LarderModel

/// The changes that a view misses while its first query runs.
///
/// The query may see them or not. The first result has those of ``included``, and none of ``steps``,
/// which follow it one by one.
struct MissedChanges: Sendable {
    /// The latest states of documents.
    private(set) var included: [DocumentPath: Document?] = [:]
    private(set) var steps: [[LocalChange]] = []

    /// Later steps than these are joined.
    private static let maxSteps = 32

    /// Adds the changes of a step.
    ///
    /// - Parameter knowsFormerStates: whether the changes have former states. A step without them
    ///   cannot be taken out of a result, nor can those before it.
    mutating func add(_ changes: some Sequence<LocalChange>, knowsFormerStates: Bool) {
        if !knowsFormerStates {
            for change in [steps.joined().map(\.self), Array(changes)].joined() {
                included.updateValue(change.after, forKey: change.path)
            }
            steps = []
        } else if steps.count < Self.maxSteps {
            steps.append(Array(changes))
        } else {
            steps[Self.maxSteps - 1] += changes
        }
    }
}

extension Sequence<LocalChange> {
    /// The states of the changed documents before the changes; nil for an unknown document.
    var formerStates: [DocumentPath: Document?] {
        var states: [DocumentPath: Document?] = [:]
        for change in self where states[change.path] == nil {
            states.updateValue(change.before, forKey: change.path)
        }
        return states
    }
}

extension [LocalChange] {
    /// The changes with one per document, from the first state to the last.
    var merged: [LocalChange] {
        // One commit changes a document once.
        if Set(lazy.map(\.path)).count == count { return self }
        var positions: [DocumentPath: Int] = [:]
        var merged: [LocalChange] = []
        merged.reserveCapacity(count)
        for change in self {
            if let position = positions[change.path] {
                merged[position] = LocalChange(
                    path: change.path, before: merged[position].before, after: change.after,
                    revertsWrites: merged[position].revertsWrites || change.revertsWrites)
            } else {
                positions[change.path] = merged.count
                merged.append(change)
            }
        }
        return merged
    }
}
