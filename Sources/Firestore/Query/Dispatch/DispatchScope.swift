import LarderModel

/// The views of one collection or collection group, by what their documents have in a field.
struct DispatchScope: Sendable {
    /// Views that every document may be in.
    private var unkeyed = ViewList.none
    private var fields: [DispatchField: Buckets] = [:]

    fileprivate struct Buckets: Sendable {
        let field: PreparedField
        var views: [Int: ViewList] = [:]
    }

    var isEmpty: Bool { unkeyed.isEmpty && fields.isEmpty }

    /// Adds a view whose documents may be anything.
    mutating func insert(_ view: ViewID) {
        unkeyed.insert(view)
    }

    /// Takes such a view out.
    mutating func remove(_ view: ViewID) {
        unkeyed.remove(view)
    }

    /// Adds a view whose documents have a value.
    mutating func insert(_ view: ViewID, at field: DispatchField, _ hash: Int) {
        fields[field, default: Buckets(field: PreparedField(field.path))].views
            .insert(view, at: hash)
    }

    /// Takes such a view out.
    mutating func remove(_ view: ViewID, at field: DispatchField, _ hash: Int) {
        fields[field]?.views.remove(view, at: hash)
        if fields[field]?.views.isEmpty ?? false { fields[field] = nil }
    }

    /// Calls the closure with views that may have a document of the scope in one of its states;
    /// with some of them twice.
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
        // The bytes were checked when the record was made, so that reading does not fail.
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
            // What cannot be hashed may be anything.
            views.values.forEach { $0.forEach(body) }
        }
    }
}
