package import LarderModel

/// Finds the views that a changed document may come into or leave, without asking the others.
///
/// Views are kept by document; by collection and collection group, and there by the value of a
/// field where every document of the query must have one of a few values.
package struct DispatchIndex: Sendable {
    private var documents: [DocumentPath: ViewList] = [:]
    private var collections: [CollectionPath: DispatchScope] = [:]
    private var groups: [String: DispatchScope] = [:]

    /// No views.
    package init() {}

    /// Adds the view of a query.
    package mutating func insert(_ view: ViewID, _ query: Query) {
        if case .document(let path) = query.source {
            documents.insert(view, at: path)
        } else if let keys = DispatchKey.keys(of: query.filters) {
            for key in keys {
                switch key {
                case .document(let path): documents.insert(view, at: path)
                case .value(let field, let hash):
                    update(query.source) { $0.insert(view, at: field, hash) }
                }
            }
        } else {
            update(query.source) { $0.insert(view) }
        }
    }

    /// Takes the view of a query out.
    package mutating func remove(_ view: ViewID, _ query: Query) {
        if case .document(let path) = query.source {
            documents.remove(view, at: path)
        } else if let keys = DispatchKey.keys(of: query.filters) {
            for key in keys {
                switch key {
                case .document(let path): documents.remove(view, at: path)
                case .value(let field, let hash):
                    update(query.source) { $0.remove(view, at: field, hash) }
                }
            }
        } else {
            update(query.source) { $0.remove(view) }
        }
    }

    private mutating func update(
        _ source: Query.Source, _ body: (inout DispatchScope) -> Void
    ) {
        switch source {
        case .collection(let path):
            body(&collections[path, default: DispatchScope()])
            if collections[path]?.isEmpty ?? false { collections[path] = nil }
        case .group(let id):
            body(&groups[id, default: DispatchScope()])
            if groups[id]?.isEmpty ?? false { groups[id] = nil }
        case .document: break
        }
    }

    /// Calls the closure with every view that a document in one of these states may be in; with
    /// some of them twice, and with some that it is not in.
    ///
    /// - Parameter states: the fields of the document before and after a change, where it
    ///   existed.
    package func forEachView(
        of path: DocumentPath, states: [Record], _ body: (ViewID) -> Void
    ) {
        documents[path]?.forEach(body)
        guard !states.isEmpty, !collections.isEmpty || !groups.isEmpty else { return }
        let parent = path.parent
        collections[parent]?.forEachView(of: states, body)
        groups[parent.id]?.forEachView(of: states, body)
    }
}
