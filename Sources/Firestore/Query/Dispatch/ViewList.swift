/// The ID of an active view; later views have greater IDs.
package struct ViewID: Sendable, Hashable, Comparable {
    let number: Int

    package init(number: Int) {
        self.number = number
    }

    package static func < (left: ViewID, right: ViewID) -> Bool { left.number < right.number }
}

/// A set of views, oldest first; a single view needs no allocation.
package enum ViewList: Sendable {
    case none
    case one(ViewID)
    case many([ViewID])

    package var isEmpty: Bool {
        if case .none = self { true } else { false }
    }

    /// Calls the closure with each view, oldest first.
    package func forEach(_ body: (ViewID) -> Void) {
        switch self {
        case .none: break
        case .one(let view): body(view)
        case .many(let views): views.forEach(body)
        }
    }

    /// Adds a view unless it is already in the list.
    package mutating func insert(_ view: ViewID) {
        switch self {
        case .none: self = .one(view)
        case .one(view): break
        case .one(let other): self = .many([min(view, other), max(view, other)])
        case .many(var views):
            self = .none  // so that the list is changed in place
            let index = views.place(of: view)
            if index == views.count || views[index] != view { views.insert(view, at: index) }
            self = .many(views)
        }
    }

    /// Removes a view, if present.
    package mutating func remove(_ view: ViewID) {
        switch self {
        case .none: break
        case .one(let other): if other == view { self = .none }
        case .many(var views):
            self = .none  // so that the list is changed in place
            let index = views.place(of: view)
            if index < views.count, views[index] == view { views.remove(at: index) }
            self = views.count == 1 ? .one(views[0]) : .many(views)
        }
    }
}

extension [ViewID] {
    /// The index of a view, or the index at which it would be inserted.
    fileprivate func place(of view: ViewID) -> Int {
        guard let last, last >= view else { return count }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < view { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Dictionary where Value == ViewList {
    /// Adds a view to the list of a key.
    ///
    /// - Returns: whether it is the first one.
    @discardableResult
    package mutating func insert(_ view: ViewID, at key: Key) -> Bool {
        func insert(into list: inout ViewList) -> Bool {
            defer { list.insert(view) }
            return list.isEmpty
        }
        return insert(into: &self[key, default: .none])
    }

    /// Removes a view from the list of a key.
    ///
    /// - Returns: whether it was the last one.
    @discardableResult
    package mutating func remove(_ view: ViewID, at key: Key) -> Bool {
        guard let index = index(forKey: key) else { return false }
        values[index].remove(view)
        guard values[index].isEmpty else { return false }
        remove(at: index)
        return true
    }
}
