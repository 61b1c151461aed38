import LarderModel

/// Something that every document of a query has, by which changes find the query's view.
enum DispatchKey: Sendable, Hashable {
    /// The document itself.
    case document(DocumentPath)
    /// A field with a value of this hash; see ``DispatchField``.
    case value(DispatchField, Int)
}

/// Where a document has the value of a ``DispatchKey``.
struct DispatchField: Sendable, Hashable {
    let path: FieldPath
    /// Whether the value is an element of an array in the field.
    let isElement: Bool
}

extension DispatchKey {
    /// Keys of which every document that matches all filters has one; nil when the filters do
    /// not tell, in which case all documents of the query's place must be looked at.
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
