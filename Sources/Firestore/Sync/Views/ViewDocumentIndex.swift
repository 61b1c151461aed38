package import LarderModel
import LarderQuery

/// The views that have each document in their results, and the documents that entered a first view
/// or left the last one.
struct ViewDocumentIndex: Sendable {
    private var views: [DocumentPath: ViewList] = [:]
    private var change = PinnedPathsChange()

    func forEachView(with path: DocumentPath, _ body: (ViewID) -> Void) {
        views[path]?.forEach(body)
    }

    mutating func apply(_ changes: DocumentViewChanges, to view: ViewID) {
        if changes.count > views.count { views.reserveCapacity(views.count + changes.count) }
        changes.forEachPath { kind, path in
            switch kind {
            case .added: insert(path, view)
            case .removed: remove(path, view)
            case .modified, .metadata: break
            }
        }
    }

    mutating func removeAll(of documents: DocumentSet, view: ViewID) {
        documents.forEachPath { remove($0, view) }
    }

    private mutating func insert(_ path: DocumentPath, _ view: ViewID) {
        if views.insert(view, at: path) { change.enter(path) }
    }

    private mutating func remove(_ path: DocumentPath, _ view: ViewID) {
        if views.remove(view, at: path) { change.leave(path) }
    }

    mutating func takeChange() -> PinnedPathsChange {
        defer { change = PinnedPathsChange() }
        return change.balanced
    }
}

/// Documents that entered a first view, and those that left the last one; each once.
package struct PinnedPathsChange: Sendable {
    package private(set) var entered: [DocumentPath] = []
    package private(set) var left: [DocumentPath] = []

    package var isEmpty: Bool { entered.isEmpty && left.isEmpty }

    mutating func enter(_ path: DocumentPath) {
        entered.append(path)
    }

    mutating func leave(_ path: DocumentPath) {
        left.append(path)
    }

    /// The change without documents that entered and left again, or left and returned.
    fileprivate var balanced: PinnedPathsChange {
        if entered.isEmpty || left.isEmpty { return self }
        // A document that entered can only leave next, and the other way round.
        var balance: [DocumentPath: Int] = [:]
        for path in entered { balance[path, default: 0] += 1 }
        for path in left { balance[path, default: 0] -= 1 }
        var result = PinnedPathsChange()
        for path in entered where balance[path] == 1 {
            balance[path] = nil
            result.enter(path)
        }
        for path in left where balance[path] == -1 {
            balance[path] = nil
            result.leave(path)
        }
        return result
    }
}
