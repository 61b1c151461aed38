/// Several elements of a ``SortedTree`` in order, in less memory than an array takes.
protocol PackedElements: Sendable {
    associatedtype Element: SortedTreeElement

    /// Nil unless all elements can be packed.
    init?(_ elements: some Collection<Element>)

    var count: Int { get }
    var summary: Element.Summary { get }
    /// Where the elements are in memory.
    var address: UnsafeRawPointer? { get }

    /// An element, which is made on each call.
    subscript(index: Int) -> Element { get }

    /// The order of the key of an element to a key: below, equal to or above 0.
    func order(at index: Int, to key: Element.SortKey) -> Int

    /// All elements, if an array of them is made on the way to any of them; nil otherwise.
    var expanded: [Element]? { get }

    /// The elements with at most one of them replaced or removed, or with another one inserted;
    /// nil if that cannot be packed.
    func replacing(_ range: Range<Int>, with element: Element?) -> Self?
}

extension SortedTree {
    /// Consecutive elements, which a tree does not divide further.
    enum Run: Sendable {
        case array([Element])
        case packed(Element.Packed)

        /// A run of elements, which are packed if they can be.
        init(_ elements: ArraySlice<Element>) {
            if let packed = Element.Packed(elements) {
                self = .packed(packed)
            } else {
                self = .array(Array(elements))
            }
        }
    }
}

extension SortedTree.Run {
    var count: Int {
        switch self {
        case .array(let elements): elements.count
        case .packed(let elements): elements.count
        }
    }

    subscript(index: Int) -> Element {
        switch self {
        case .array(let elements): elements[index]
        case .packed(let elements): elements[index]
        }
    }

    var array: [Element] {
        switch self {
        case .array(let elements): elements
        case .packed(let elements): elements.expanded ?? (0..<elements.count).map { elements[$0] }
        }
    }

    /// The run in the form in which several of its elements are read.
    var expanded: Self {
        guard case .packed(let elements) = self, let all = elements.expanded else { return self }
        return .array(all)
    }

    var summary: Element.Summary {
        switch self {
        case .array(let elements):
            var summary = Element.Summary()
            for element in elements { summary.add(element.summary) }
            return summary
        case .packed(let elements): return elements.summary
        }
    }

    /// The place of a key, and whether an element has it.
    func search(for key: Element.SortKey) -> (index: Int, isFound: Bool) {
        switch self {
        case .array(let elements):
            Self.search(elements.count) { Element.order(elements[$0].sortKey, key) }
        case .packed(let elements):
            Self.search(elements.count) { elements.order(at: $0, to: key) }
        }
    }

    @inline(__always)
    private static func search(
        _ count: Int, _ order: (Int) -> Int
    ) -> (index: Int, isFound: Bool) {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low &+ high) / 2
            let order = order(middle)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    /// The run with at most one element replaced or removed, or with another one inserted.
    func replacing(_ range: Range<Int>, with element: Element?) -> Self {
        if case .packed(let elements) = self,
            let changed = elements.replacing(range, with: element)
        {
            return .packed(changed)
        }
        var elements = array
        if let element, !range.isEmpty {
            elements[range.lowerBound] = element
        } else if let element {
            elements.insert(element, at: range.lowerBound)
        } else {
            elements.removeSubrange(range)
        }
        return Self(elements[...])
    }

    /// True if both are the same memory.
    func isIdentical(to other: Self) -> Bool {
        count == other.count && address == other.address
    }

    var address: UnsafeRawPointer? {
        switch self {
        case .array(let elements): elements.withUnsafeBytes { $0.baseAddress }
        case .packed(let elements): elements.address
        }
    }
}
