/// Writes children with their subtrees as bytes, from which ``ChildrenReader`` makes them again.
///
///     children: count (4) · children
///     child: key · node
///     node: kind (1) · priority, if the kind has the flag for one · content
///     key, text: size (4) · UTF-8
///
/// Numbers are in the order of the machine's bytes: the bytes never leave the process.
struct ChildrenWriter {
    private(set) var bytes: [UInt8] = []

    fileprivate enum Kind: UInt8 {
        case `false`, `true`, integer, double, string, children
        /// Leaves as they are packed.
        case leaves

        static let priorityFlag: UInt8 = 0x80
    }

    /// Forgets what was written, and keeps the memory.
    mutating func reset() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Writes children; false if one of them cannot be written: a value that the server has yet to
    /// compute, or children that are compressed already.
    mutating func append(_ children: some Collection<Child>) -> Bool {
        append(count: children.count)
        return children.allSatisfy { append($0) }
    }

    private mutating func append(_ child: Child) -> Bool {
        guard !child.key.isSentinel else { return false }
        append(child.key.text)
        return append(child.node)
    }

    private mutating func append(_ node: Node) -> Bool {
        switch node.storage {
        case .empty: return false
        case .leaf(let value): return append(value, .none)
        case .prioritizedLeaf(let leaf): return append(leaf.value, leaf.priority)
        case .branch(let branch):
            if case .elements(.packed(.leaves(let leaves))) = branch.children.root {
                guard append(.leaves, branch.priority) else { return false }
                append(leaves.bytes)
                return true
            }
            guard append(.children, branch.priority) else { return false }
            append(count: branch.children.count)
            return append(branch.children.root)
        }
    }

    private mutating func append(_ subtree: SortedTree<Child>.Subtree) -> Bool {
        switch subtree {
        case .block(let block): return block.slots.allSatisfy { append($0.subtree) }
        case .elements(.packed(.compressed)): return false
        case .elements(let run): return (0..<run.count).allSatisfy { append(run[$0]) }
        }
    }

    // MARK: Values

    private mutating func append(_ kind: Kind, _ priority: Priority) -> Bool {
        guard let leaf = priority.leaf else {
            bytes.append(kind.rawValue)
            return true
        }
        bytes.append(kind.rawValue | Kind.priorityFlag)
        return append(leaf, .none)
    }

    private mutating func append(_ value: LeafValue, _ priority: Priority) -> Bool {
        switch value {
        case .boolean(let flag): return append(flag ? .true : .false, priority)
        case .number(let number):
            let kind = number.integer == nil ? Kind.double : .integer
            guard append(kind, priority) else { return false }
            let bits = number.integer.map { UInt64(bitPattern: $0) } ?? number.double.bitPattern
            withUnsafeBytes(of: bits) { bytes.append(contentsOf: $0) }
            return true
        case .string(let text):
            guard append(.string, priority) else { return false }
            append(text)
            return true
        case .deferred: return false
        }
    }

    private mutating func append(_ text: String) {
        text.withUTF8Buffer {
            append(count: $0.count)
            bytes.append(contentsOf: $0)
        }
    }

    private mutating func append(_ content: [UInt8]) {
        append(count: content.count)
        bytes.append(contentsOf: content)
    }

    private mutating func append(count: Int) {
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: count)) { bytes.append(contentsOf: $0) }
    }
}

/// Makes children of what ``ChildrenWriter`` has written.
struct ChildrenReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    /// - Parameter digests: those of the children that are known; empty, or one a child.
    mutating func readChildren(digests: [SHA1.Digest?] = []) -> [Child] {
        let count = readCount()
        return (0..<count).map { readChild(digest: digests.isEmpty ? nil : digests[$0]) }
    }

    private mutating func readChild(digest: SHA1.Digest?) -> Child {
        let key = ChildKey(readText())
        return Child(key, readNode(digest: digest))
    }

    private mutating func readNode(digest: SHA1.Digest?) -> Node {
        let head = read(UInt8.self)
        let kind = ChildrenWriter.Kind(rawValue: head & ~ChildrenWriter.Kind.priorityFlag)
        var priority = Priority.none
        if head != kind?.rawValue { priority = Priority(readNode(digest: nil).leafValue) ?? .none }
        var children = SortedTree<Child>()
        switch kind {
        case .false: return Node(.boolean(false), priority: priority)
        case .true: return Node(.boolean(true), priority: priority)
        case .integer: return Node(.integer(read(Int64.self)), priority: priority)
        case .double:
            let number = LeafNumber(doubleBits: read(UInt64.self))
            return Node(.number(number), priority: priority)
        case .string, nil: return Node(.string(readText()), priority: priority)
        case .leaves:
            let content = readContent()
            children.root = .elements(.packed(.leaves(PackedLeaves(bytes: Array(content)))))
        case .children:
            var builder = SortedTreeBuilder<Child>()
            for _ in 0..<readCount() { builder.append(readChild(digest: nil)) }
            children = builder.tree
        }
        return Node(storage: .branch(Branch(children, priority, digest: digest)))
    }

    private mutating func readText() -> String {
        String(decoding: readContent(), as: UTF8.self)
    }

    private mutating func readContent() -> UnsafeRawBufferPointer {
        let size = readCount()
        defer { offset += size }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)])
    }

    private mutating func readCount() -> Int { Int(read(UInt32.self)) }

    private mutating func read<Number: BitwiseCopyable>(_ type: Number.Type) -> Number {
        defer { offset += MemoryLayout<Number>.size }
        return bytes.loadUnaligned(fromByteOffset: offset, as: type)
    }
}
