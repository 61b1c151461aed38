package import LarderModel
import LarderQuery

/// Which views have which documents in their results, and which documents came into a first
/// view or left the last one.
struct HeldDocuments: Sendable {
    private var views: [DocumentPath: ViewList] = [:]
    private var change = PinnedPathsChange()

    /// The views that have a document.
    func forEachView(with path: DocumentPath, _ body: (ViewID) -> Void) {
        views[path]?.forEach(body)
    }

    /// Notes what changes do to the result of a view.
    mutating func apply(_ changes: DocumentViewChanges, to view: ViewID) {
        for change in changes {
            switch change.kind {
            case .added: insert(change.document.path, view)
            case .removed: remove(change.document.path, view)
            case .modified, .metadata: break
            }
        }
    }

    /// Notes that a view has ended.
    mutating func removeAll(of documents: DocumentSet, view: ViewID) {
        for document in documents { remove(document.path, view) }
    }

    private mutating func insert(_ path: DocumentPath, _ view: ViewID) {
        if views.insert(view, at: path) { change.enter(path) }
    }

    private mutating func remove(_ path: DocumentPath, _ view: ViewID) {
        if views.remove(view, at: path) { change.leave(path) }
    }

    /// What has changed since the last call.
    mutating func takeChange() -> PinnedPathsChange {
        defer { change = PinnedPathsChange() }
        return change
    }
}

/// Documents that are now in some view, and those that are in none any longer.
package struct PinnedPathsChange: Sendable, Equatable {
    /// Documents that came into a first view.
    package private(set) var entered: Set<DocumentPath> = []
    /// Documents that left the last view that had them.
    package private(set) var left: Set<DocumentPath> = []

    /// Whether nothing has changed.
    package var isEmpty: Bool { entered.isEmpty && left.isEmpty }

    mutating func enter(_ path: DocumentPath) {
        if left.remove(path) == nil { entered.insert(path) }
    }

    mutating func leave(_ path: DocumentPath) {
        if entered.remove(path) == nil { left.insert(path) }
    }
}
