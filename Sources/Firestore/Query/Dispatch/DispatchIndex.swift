package import LarderModel

/// Finds the views that a changed document may enter or leave, without examining the others.
///
/// Views are indexed by document, or by collection or collection group and, if their filters
/// restrict a field to a few values, by the value of that field.
package struct DispatchIndex: Sendable {
    private var documents: [DocumentPath: ViewList] = [:]
    private var collections: [CollectionPath: DispatchScope] = [:]
    private var groups: [String: DispatchScope] = [:]

    package init() {}

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

    /// Calls the closure with every view that may contain a document in one of these states;
    /// possibly repeated, and with false positives.
    ///
    /// - Parameter states: the fields of the document before and after a change, as far as it
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

// MARK: - Keys

/// A property of every document of a query, by which a change finds the query's view.
enum DispatchKey: Sendable, Hashable {
    case document(DocumentPath)
    /// A field with a value of this hash; see ``DispatchField``.
    case value(DispatchField, Int)
}

/// The field in which a document has the value of a ``DispatchKey``.
struct DispatchField: Sendable, Hashable {
    let path: FieldPath
    let isElement: Bool
}

extension DispatchKey {
    /// Keys of which every document that matches all filters has one; nil if the filters imply
    /// none, in which case all documents of the query's scope must be examined.
    static func keys(of filters: [Filter]) -> Set<DispatchKey>? {
        filters.lazy.compactMap { keys(of: $0) }.min { $0.count < $1.count }
    }

    private static func keys(of filter: Filter) -> Set<DispatchKey>? {
        switch filter {
        case .field(let filter): return keys(of: filter)
        case .and(let filters): return keys(of: filters)
        case .or(let filters):
            var joined: Set<DispatchKey> = []
            for filter in filters {
                guard let keys = keys(of: filter) else { return nil }
                joined.formUnion(keys)
            }
            return joined
        }
    }

    private static func keys(of filter: FieldFilter) -> Set<DispatchKey>? {
        switch (filter.op, filter.value) {
        case (.equal, let value): keys(of: filter.path, [value], isElement: false)
        case (.in, .array(let values)): keys(of: filter.path, values, isElement: false)
        case (.arrayContains, let value): keys(of: filter.path, [value], isElement: true)
        case (.arrayContainsAny, .array(let values)):
            keys(of: filter.path, values, isElement: true)
        default: nil
        }
    }

    private static func keys(
        of path: FieldPath, _ values: [Value], isElement: Bool
    ) -> Set<DispatchKey>? {
        var keys: Set<DispatchKey> = []
        for value in values {
            if path.isDocumentID {
                guard case .reference(let name) = value, let document = name.document else {
                    return nil
                }
                keys.insert(.document(document))
            } else {
                guard let hash = try? EncodedValue(value).orderHash() else { return nil }
                keys.insert(.value(DispatchField(path: path, isElement: isElement), hash))
            }
        }
        return keys
    }
}

// MARK: - Scopes

/// The views of one collection or collection group, by a value of their documents.
struct DispatchScope: Sendable {
    /// The views without a key, which may contain any document.
    private var unkeyed = ViewList.none
    private var fields: [DispatchField: Buckets] = [:]

    fileprivate struct Buckets: Sendable {
        let field: PreparedField
        var views: [Int: ViewList] = [:]
    }

    var isEmpty: Bool { unkeyed.isEmpty && fields.isEmpty }

    mutating func insert(_ view: ViewID) {
        unkeyed.insert(view)
    }

    mutating func remove(_ view: ViewID) {
        unkeyed.remove(view)
    }

    mutating func insert(_ view: ViewID, at field: DispatchField, _ hash: Int) {
        fields[field, default: Buckets(field: PreparedField(field.path))].views
            .insert(view, at: hash)
    }

    mutating func remove(_ view: ViewID, at field: DispatchField, _ hash: Int) {
        fields[field]?.views.remove(view, at: hash)
        if fields[field]?.views.isEmpty ?? false { fields[field] = nil }
    }

    /// Calls the closure with the views that may contain a document in one of its states; possibly
    /// repeated.
    func forEachView(of states: [Record], _ body: (ViewID) -> Void) {
        unkeyed.forEach(body)
        for (field, buckets) in fields {
            for record in states {
                record.withView { buckets.forEachView(of: $0, isElement: field.isElement, body) }
            }
        }
    }
}

extension DispatchScope.Buckets {
    fileprivate func forEachView(
        of record: borrowing RecordView, isElement: Bool, _ body: (ViewID) -> Void
    ) {
        // The bytes were validated when the record was created, so that reading cannot fail.
        _ = try? record.withValue(at: field) { value in
            guard isElement else { return forEachView(of: value, body) }
            value.forEachElement { element in
                forEachView(of: element, body)
                return .continue
            }
        }
    }

    private func forEachView(of value: borrowing ValueView, _ body: (ViewID) -> Void) {
        if let hash = try? value.orderHash() {
            views[hash]?.forEach(body)
        } else {
            // A value that cannot be hashed may equal any other.
            views.values.forEach { $0.forEach(body) }
        }
    }
}
