/// The number of an active view; later views have larger ones.
package struct ViewID: Sendable, Hashable, Comparable {
    let number: Int

    /// The view with a number.
    package init(number: Int) {
        self.number = number
    }

    /// Whether the left view is the older one.
    package static func < (left: ViewID, right: ViewID) -> Bool { left.number < right.number }
}

/// A few views or many, each once, oldest first; one takes no memory of its own.
package enum ViewList: Sendable {
    /// No view.
    case none
    /// One view.
    case one(ViewID)
    /// Two or more.
    case many([ViewID])

    /// Whether there is none.
    package var isEmpty: Bool {
        if case .none = self { true } else { false }
    }

    /// Calls the closure with each, oldest first.
    package func forEach(_ body: (ViewID) -> Void) {
        switch self {
        case .none: break
        case .one(let view): body(view)
        case .many(let views): views.forEach(body)
        }
    }

    /// Adds a view that may be there already.
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

    /// Takes a view out that may not be there.
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
    /// Where a view is or would be.
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
    /// - Returns: whether it is the first there.
    @discardableResult
    package mutating func insert(_ view: ViewID, at key: Key) -> Bool {
        func insert(into list: inout ViewList) -> Bool {
            defer { list.insert(view) }
            return list.isEmpty
        }
        return insert(into: &self[key, default: .none])
    }

    /// Takes a view out of the list of a key.
    ///
    /// - Returns: whether it was the last there.
    @discardableResult
    package mutating func remove(_ view: ViewID, at key: Key) -> Bool {
        guard let index = index(forKey: key) else { return false }
        values[index].remove(view)
        guard values[index].isEmpty else { return false }
        remove(at: index)
        return true
    }
}
