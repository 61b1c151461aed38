/// An element of a ``SortedTree``, in the order of its keys.
protocol SortedTreeElement: Sendable {
    associatedtype SortKey: Sendable
    var sortKey: SortKey { get }
    static func order(_ left: SortKey, _ right: SortKey) -> Int
}

/// A persistent ordered set.
struct SortedTree<Element: SortedTreeElement>: Sendable {
    private var elements: [Element]

    init() { elements = [] }

    /// Elements with ascending keys, none twice.
    init(sorted elements: [Element]) { self.elements = elements }

    var count: Int { elements.count }
    var first: Element? { elements.first }
    var last: Element? { elements.last }

    func index(of key: Element.SortKey) -> (index: Int, isFound: Bool) {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            let order = Element.order(elements[middle].sortKey, key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    subscript(key: Element.SortKey) -> Element? {
        let (index, isFound) = index(of: key)
        return isFound ? elements[index] : nil
    }

    mutating func insert(_ element: Element) {
        let (index, isFound) = index(of: element.sortKey)
        if isFound { elements[index] = element } else { elements.insert(element, at: index) }
    }

    mutating func remove(_ key: Element.SortKey) {
        let (index, isFound) = index(of: key)
        if isFound { elements.remove(at: index) }
    }

    /// The first element above a key, or at it.
    func after(_ key: Element.SortKey, orEqual: Bool = false) -> Element? {
        let (index, isFound) = index(of: key)
        let next = isFound && !orEqual ? index + 1 : index
        return next < elements.count ? elements[next] : nil
    }

    /// The last element below a key, or at it.
    func before(_ key: Element.SortKey, orEqual: Bool = false) -> Element? {
        let (index, isFound) = index(of: key)
        let previous = isFound && orEqual ? index : index - 1
        return previous >= 0 ? elements[previous] : nil
    }
}

extension SortedTree: Sequence {
    func makeIterator() -> IndexingIterator<[Element]> { elements.makeIterator() }
}
