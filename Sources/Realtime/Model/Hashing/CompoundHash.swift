/// Hashes of consecutive ranges of a node's leaves, from which a server sees what parts of a
/// client's copy differ from its own.
package struct CompoundHash: Hashable, Sendable {
    /// The last leaf of each range but the final one, relative to the node.
    package let posts: [TreePath]
    /// The hash of each range; one more than posts, since the final range has no end.
    package let hashes: [String]

    /// The estimated size of a node above which clients send its compound hash.
    package static let minimumSize = 1024

    /// Hashes of a message; nil if their count does not fit that of the posts.
    package init?(posts: [TreePath], hashes: [String]) {
        guard hashes.count == posts.count + 1 else { return nil }
        self.posts = posts
        self.hashes = hashes
    }

    /// The hashes of a node, in ranges of a length that suits its size.
    package init(_ node: Node) {
        let size = Double(node.estimatedSize)
        self.init(node, rangeLength: Swift.max(512, Int((size * 100).squareRoot())))
    }

    /// The hashes of a node, in ranges that end once their text is longer than a length in UTF-16
    /// code units.
    init(_ node: Node, rangeLength: Int) {
        var posts: [TreePath] = []
        var hashes: [String] = []
        var range = RangeHash()
        func finishRange() {
            guard let last = range.last else { return }
            posts.append(last)
            hashes.append(range.finish())
        }
        node.forEachLeaf { path, leaf in
            // A priority stays in one range with the leaves on both its sides: alone it would be
            // that of an empty node, which has none.
            if range.length > rangeLength, !path.isPriority, range.last?.isPriority == false {
                finishRange()
            }
            range.append(leaf, at: path)
        }
        finishRange()
        self.posts = posts
        self.hashes = hashes + [""]
    }

    /// The hashes that a node has in the same ranges.
    func hashes(of node: Node) -> [String] {
        var hashes: [String] = []
        var range = RangeHash()
        node.forEachLeaf { path, leaf in
            while hashes.count < posts.count, path > posts[hashes.count] {
                hashes.append(range.finish())
            }
            range.append(leaf, at: path)
        }
        while hashes.count < self.hashes.count { hashes.append(range.finish()) }
        return hashes
    }

    /// The merges that bring a copy with these hashes up to date: the ranges whose hashes differ, with
    /// their content in the node.
    package func rangeMerges(to node: Node) -> [RangeMerge] {
        let current = hashes(of: node)
        var differing = hashes.indices.map { hashes[$0] != current[$0] }
        while true {
            let ranges = Self.runs(of: differing)
            let contents = ranges.map { node.leaves(after: start(of: $0), through: end(of: $0)) }
            if contents.allSatisfy({ $0 != nil }) {
                return zip(ranges, contents).map { range, content in
                    RangeMerge(
                        after: start(of: range), through: end(of: range), content ?? .empty)
                }
            }
            for (range, content) in zip(ranges, contents) where content == nil {
                for index in [range.lowerBound - 1, range.upperBound]
                where differing.indices.contains(index) {
                    differing[index] = true
                }
            }
        }
    }

    private func start(of range: Range<Int>) -> TreePath? {
        range.lowerBound > 0 ? posts[range.lowerBound - 1] : nil
    }

    private func end(of range: Range<Int>) -> TreePath? {
        range.upperBound <= posts.count ? posts[range.upperBound - 1] : nil
    }

    /// The ranges of consecutive true elements.
    private static func runs(of flags: [Bool]) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for index in flags.indices where flags[index] {
            if let last = runs.last, last.upperBound == index {
                runs[runs.count - 1] = last.lowerBound..<index + 1
            } else {
                runs.append(index..<index + 1)
            }
        }
        return runs
    }
}

extension Node {
    /// Calls a closure for each leaf below, in the order of their paths.
    ///
    /// A leaf has its priority with it; the priority of a node with children is a leaf at
    /// `.priority`, between the children.
    fileprivate func forEachLeaf(at path: TreePath = .root, _ body: (TreePath, Node) -> Void) {
        guard let branch else {
            if !isEmpty { body(path, self) }
            return
        }
        var priority = branch.priority.leaf
        func visitPriority() {
            guard let leaf = priority else { return }
            priority = nil
            body(path.child(.priority), Node(leaf))
        }
        for child in branch.children {
            if child.key > .priority { visitPriority() }
            child.node.forEachLeaf(at: path.child(child.key), body)
        }
        visitPriority()
    }
}

/// The hash of the text that stands for consecutive leaves: objects in parentheses, open from the
/// root on.
private struct RangeHash {
    private var hash = SHA1()
    /// The length of the text in UTF-16 code units.
    private(set) var length = 0
    /// The path of the last leaf; nil without any.
    private(set) var last: TreePath?

    private mutating func append(_ text: String) {
        hash.update(text)
        length += text.utf16.count
    }

    /// Appends a leaf, whose path is above that of the last one.
    mutating func append(_ leaf: Node, at path: TreePath) {
        var common = 0
        if let last {
            while common < last.count, common < path.count,
                last[last.startIndex + common] == path[path.startIndex + common]
            {
                common += 1
            }
            close(last.count - common)
            append(",")
        } else {
            append("(")
        }
        for key in path.dropFirst(common) {
            append("\(key.text.quoted):(")
        }
        if let priority = leaf.priority.leaf { append("priority:\(priority.hashText):") }
        if let value = leaf.leafValue { append(value.hashText) }
        last = path
    }

    private mutating func close(_ count: Int) {
        append(String(repeating: ")", count: count))
    }

    /// The hash of the leaves, empty without any; the next leaf begins another text.
    mutating func finish() -> String {
        guard let last else { return "" }
        close(last.count + 1)
        let text = hash.digest.base64
        self = RangeHash()
        return text
    }
}

extension LeafValue {
    fileprivate var hashText: String {
        switch self {
        case .boolean(let flag): "boolean:\(flag)"
        case .number(let number): "number:\(number.hexadecimal)"
        case .string(let text): "string:\(text.quoted)"
        case .deferred: ""
        }
    }
}

extension String {
    /// The text in quotes, with quotes and backslashes escaped.
    fileprivate var quoted: String {
        var result = "\""
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        result.unicodeScalars.append("\"")
        return result
    }
}
