/// The place of a node in the tree: keys from the root on.
///
/// Paths are ordered by their keys, one component after the other; a prefix is smaller.
@usableFromInline package struct TreePath: Sendable {
    /// The components; a slice, so that dropping components at either end copies nothing.
    private let keys: ArraySlice<ChildKey>

    /// The path of the root.
    @usableFromInline package static let root = TreePath([])

    private init(slice: ArraySlice<ChildKey>) {
        keys = slice
    }

    /// A path of keys.
    @usableFromInline package init(_ keys: [ChildKey]) {
        self.init(slice: keys[...])
    }

    /// A path of text from a server or a store, which is not validated; slashes at the ends and
    /// repeated ones are ignored.
    package init(_ text: String) {
        var keys: [ChildKey] = []
        text.withUTF8Buffer { bytes in
            var start = 0
            for end in 0...bytes.count
            where end == bytes.count || bytes[end] == UInt8(ascii: "/") {
                if start < end {
                    keys.append(ChildKey(String(decoding: bytes[start..<end], as: UTF8.self)))
                }
                start = end + 1
            }
        }
        self.init(keys)
    }
}

extension TreePath: RandomAccessCollection {
    @usableFromInline package var startIndex: Int { keys.startIndex }
    @usableFromInline package var endIndex: Int { keys.endIndex }
    @usableFromInline package subscript(position: Int) -> ChildKey { keys[position] }
    @usableFromInline package subscript(bounds: Range<Int>) -> TreePath {
        TreePath(slice: keys[bounds])
    }
}

extension TreePath: Hashable, Comparable {
    @usableFromInline package static func == (left: TreePath, right: TreePath) -> Bool {
        left.count == right.count && left.elementsEqual(right)
    }

    @usableFromInline package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for key in self { hasher.combine(key) }
    }

    @usableFromInline package static func < (left: TreePath, right: TreePath) -> Bool {
        left.order(to: right) < 0
    }

    /// The order of both paths: below, equal to or above 0.
    package func order(to other: TreePath) -> Int {
        for (left, right) in zip(self, other) {
            let order = left.order(to: right)
            if order != 0 { return order }
        }
        return count - other.count
    }
}

// MARK: - Relations

extension TreePath {
    /// The path of a child.
    @usableFromInline package func child(_ key: ChildKey) -> TreePath {
        TreePath(Array(keys) + CollectionOfOne(key))
    }

    /// This path, continued by another.
    @usableFromInline package func appending(_ path: TreePath) -> TreePath {
        if path.isEmpty { return self }
        return isEmpty ? path : TreePath(Array(keys) + path.keys)
    }

    /// The path without its last component; nil for the root.
    package var parent: TreePath? {
        isEmpty ? nil : dropLast()
    }

    /// True if the other path begins with all components of this one.
    package func isAncestorOrEqual(of other: TreePath) -> Bool {
        count <= other.count && zip(self, other).allSatisfy { $0 == $1 }
    }

    /// True if one of the paths begins with all components of the other.
    package func overlaps(_ other: TreePath) -> Bool {
        zip(self, other).allSatisfy { $0 == $1 }
    }

    /// True if the other path begins with all components of this one, and has more.
    package func isAncestor(of other: TreePath) -> Bool {
        count < other.count && isAncestorOrEqual(of: other)
    }

    /// The rest of this path below an ancestor, or the root for the path itself; nil if the other
    /// path is neither.
    package func relative(to ancestor: TreePath) -> TreePath? {
        ancestor.isAncestorOrEqual(of: self) ? dropFirst(ancestor.count) : nil
    }

    /// True if the path addresses a priority.
    package var isPriority: Bool { last == .priority }
}

// MARK: - Text

extension TreePath: CustomStringConvertible {
    /// The path with slashes between its components, none in front; empty for the root.
    package var text: String {
        keys.map(\.text).joined(separator: "/")
    }

    /// The path with a slash in front of each component; "/" for the root.
    @usableFromInline package var description: String { "/" + text }
}

// MARK: - Validation

extension TreePath {
    /// The longest path, in bytes of UTF-8 with the slashes between components.
    package static let maximumBytes = 768

    /// The most components of a path.
    package static let maximumDepth = 32

    /// The path of `.info`, where a client publishes facts about its connection.
    package static let info = TreePath([ChildKey(".info")])

    /// A path of text that a user gives; slashes at the ends and repeated ones are ignored.
    ///
    /// - Parameters:
    ///   - text: the components; the first one of all may be `.info`.
    ///   - ancestor: the path that the text continues.
    ///   - allowsPriority: true if the last component may be `.priority`.
    /// - Throws: `invalidArgument` if a key is invalid, or the path too long or too deep.
    package init(
        validating text: String, below ancestor: TreePath = .root, allowsPriority: Bool = false
    ) throws(LarderError) {
        self = ancestor.appending(TreePath(text))
        try validate(allowsPriority: allowsPriority)
    }

    /// Throws `invalidArgument` if a key is invalid, or the path too long or too deep.
    ///
    /// - Parameter allowsPriority: true if the last component may be `.priority`.
    package func validate(allowsPriority: Bool = false) throws(LarderError) {
        var checked = self
        if allowsPriority && checked.isPriority { checked = checked.dropLast() }
        if Self.info.isAncestorOrEqual(of: checked) { checked = checked.dropFirst() }
        for key in checked {
            if let problem = ChildKey.problem(in: key.text) {
                throw .invalidPath("the path '\(self)' is invalid: '\(key)' \(problem)")
            }
        }
        try checkLimits()
    }

    /// Throws `invalidArgument` if the path is too long or too deep.
    package func checkLimits() throws(LarderError) {
        let depth = isPriority ? count - 1 : count
        guard depth <= Self.maximumDepth else {
            throw .invalidPath("a path has \(depth) levels; \(Self.maximumDepth) are allowed")
        }
        let size = reduce(Swift.max(0, count - 1)) { $0 + $1.text.utf8.count }
        guard size <= Self.maximumBytes else {
            throw .invalidPath("a path has \(size) bytes; \(Self.maximumBytes) are allowed")
        }
    }
}
