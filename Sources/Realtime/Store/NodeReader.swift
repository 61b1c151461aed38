import CLarder
import LarderRealtimeModel

/// Decodes nodes as the storage core has them (`larder.h`, "nodes").
///
/// Bytes that are no node are an error, never a trap.
struct NodeReader {
    static let priorityFlag: UInt8 = 0x10
    /// The maximum nesting depth.
    private static let maximumDepth = 100

    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0
    private let keys: KeyCache
    private let compressor: ChildrenCompressor?

    /// A reader of bytes; several readers of similar nodes may share their keys.
    ///
    /// - Parameter compressor: what compresses the children of a large tree; nil for none.
    init(
        _ bytes: UnsafeRawBufferPointer, keys: KeyCache = KeyCache(),
        _ compressor: ChildrenCompressor? = nil
    ) {
        self.bytes = bytes
        self.keys = keys
        self.compressor = compressor
    }

    /// True when everything was read.
    var isAtEnd: Bool { offset == bytes.count }

    /// The rest as one node; empty for no bytes.
    mutating func readRest() throws(LarderError) -> Node {
        if isAtEnd { return .empty }
        let node = try readNode()
        guard isAtEnd else { throw Self.malformed }
        return node
    }

    /// The keys of what is left, a node with children or none.
    mutating func readKeys() throws(LarderError) -> [ChildKey] {
        if isAtEnd { return [] }
        guard try readByte() == UInt8(LARDER_NODE_CHILDREN) else { throw Self.malformed }
        var keys: [ChildKey] = []
        let end = try readChildrenEnd()
        while offset < end {
            keys.append(try readKey(before: end))
            // Each is TRUE.
            guard try readByte() == UInt8(LARDER_NODE_TRUE) else { throw Self.malformed }
        }
        return keys
    }

    /// The children of what is left, a node with children or none.
    ///
    /// - Parameter body: called with each child.
    /// - Returns: the node's priority.
    mutating func readChildren(_ body: (Child) -> Void) throws(LarderError) -> Priority {
        if isAtEnd { return .none }
        let (type, priority) = try readHead()
        guard type == UInt8(LARDER_NODE_CHILDREN) else { throw Self.malformed }
        let end = try readChildrenEnd()
        while offset < end {
            let key = try readKey(before: end)
            body(Child(key, try readNode(depth: 1)))
        }
        guard isAtEnd else { throw Self.malformed }
        return priority
    }

    // MARK: Nodes

    /// A node's type and priority.
    private mutating func readHead() throws(LarderError) -> (type: UInt8, Priority) {
        let head = try readByte()
        guard head & Self.priorityFlag != 0 else { return (head, .none) }
        let leaf = try readLeaf(type: try readByte())
        guard let priority = Priority(leaf) else { throw Self.malformed }
        return (head & ~Self.priorityFlag, priority)
    }

    private mutating func readNode(depth: Int = 0) throws(LarderError) -> Node {
        let (type, priority) = try readHead()
        guard type == UInt8(LARDER_NODE_CHILDREN) else {
            return Node(try readLeaf(type: type), priority: priority)
        }
        guard depth < Self.maximumDepth else { throw Self.malformed }
        let end = try readChildrenEnd()
        if let node = try readLeaves(before: end, priority: priority) { return node }
        var children = ChildrenBuilder(compressor)
        while offset < end {
            let key = try readKey(before: end)
            children.append(Child(key, try readNode(depth: depth + 1)))
        }
        guard offset == end, !children.isEmpty else { throw Self.malformed }
        return children.node(priority: priority)
    }

    /// Children that are few short leaves without priorities, as they lie in the bytes; nil for other
    /// ones, of which nothing is read then.
    private mutating func readLeaves(
        before end: Int, priority: Priority
    ) throws(LarderError) -> Node? {
        let start = offset
        keys.leaves.removeAll(keepingCapacity: true)
        while offset < end, keys.leaves.count < RawLeaf.maximumCount {
            let key = try readKeyBytes(before: end)
            guard let value = try readRawLeaf() else { break }
            keys.leaves.append(RawLeaf(key: key, value: value))
        }
        if offset == end, !keys.leaves.isEmpty,
            let node = Node(rawLeaves: keys.leaves, priority: priority, compressor)
        {
            return node
        }
        offset = start
        return nil
    }

    /// A leaf's value in the bytes; nil for other nodes.
    private mutating func readRawLeaf() throws(LarderError) -> RawLeaf.Value? {
        let type = try readByte()
        if Int(type) == LARDER_NODE_STRING {
            let size = try readSize()
            defer { offset += size }
            return .text(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)]))
        }
        guard type < UInt8(LARDER_NODE_CHILDREN), Int(type) != LARDER_NODE_SERVER_VALUE else {
            return nil
        }
        switch try readLeaf(type: type) {
        case .boolean(let flag): return .boolean(flag)
        case .number(let number): return .number(number)
        case .string, .deferred: return nil
        }
    }

    private mutating func readLeaf(type: UInt8) throws(LarderError) -> LeafValue {
        switch Int(type) {
        case LARDER_NODE_FALSE: return .boolean(false)
        case LARDER_NODE_TRUE: return .boolean(true)
        case LARDER_NODE_INTEGER:
            let raw = try readNumber()
            return .integer(Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1))
        case LARDER_NODE_DOUBLE:
            guard bytes.count - offset >= 8 else { throw Self.malformed }
            let bits = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
            guard let value = LeafValue.double(Double(bitPattern: UInt64(littleEndian: bits)))
            else { throw Self.malformed }
            return value
        case LARDER_NODE_STRING: return .string(try readText())
        case LARDER_NODE_SERVER_VALUE:
            guard let value = ServerValue(storedText: try readText()) else {
                throw Self.malformed
            }
            return .deferred(value)
        default: throw Self.malformed
        }
    }

    /// Where the children end whose size comes next.
    private mutating func readChildrenEnd() throws(LarderError) -> Int {
        guard bytes.count - offset >= 4 else { throw Self.malformed }
        let raw = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        offset += 4
        let size = Int(UInt32(littleEndian: raw))
        guard size <= bytes.count - offset else { throw Self.malformed }
        return offset + size
    }

    private mutating func readKey(before end: Int) throws(LarderError) -> ChildKey {
        keys.key(try readKeyBytes(before: end))
    }

    private mutating func readKeyBytes(
        before end: Int
    ) throws(LarderError) -> UnsafeRawBufferPointer {
        let size = try readSize()
        guard size < end - offset else { throw Self.malformed }
        defer { offset += size }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + size)])
    }

    // MARK: Parts

    mutating func readByte() throws(LarderError) -> UInt8 {
        guard offset < bytes.count else { throw Self.malformed }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// A varint.
    mutating func readNumber() throws(LarderError) -> UInt64 {
        var (value, shift): (UInt64, UInt64) = (0, 0)
        while shift < 64 {
            let byte = try readByte()
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw Self.malformed
    }

    /// A count of bytes that are there.
    private mutating func readSize() throws(LarderError) -> Int {
        let size = try readNumber()
        guard size <= UInt64(bytes.count - offset) else { throw Self.malformed }
        return Int(size)
    }

    /// Reads a length-prefixed string.
    mutating func readText() throws(LarderError) -> String {
        let size = try readSize()
        defer { offset += size }
        return String(decoding: bytes[offset..<(offset + size)], as: UTF8.self)
    }

    /// A path as text behind its size.
    mutating func readPath() throws(LarderError) -> TreePath {
        let size = try readSize()
        defer { offset += size }
        let text = bytes[offset..<(offset + size)]
        return TreePath(
            text.split(separator: UInt8(ascii: "/")).map {
                keys.key(UnsafeRawBufferPointer(rebasing: $0))
            })
    }

    /// A node behind its size; empty for no bytes.
    mutating func readSizedNode() throws(LarderError) -> Node {
        let size = try readSize()
        guard size > 0 else { return .empty }
        let end = offset + size
        let node = try readNode()
        guard offset == end else { throw Self.malformed }
        return node
    }

    static var malformed: LarderError {
        LarderError(realtime: .dataLoss, "stored bytes are no node", condition: .corrupt)
    }
}

/// Keys that were read last: objects of one shape repeat their names, which are decoded once.
final class KeyCache {
    private static let slotCount = 32

    /// The leaves of the object that is being read: memory that is used again.
    fileprivate(set) var leaves: [RawLeaf] = []

    private let slots = UnsafeMutablePointer<ChildKey?>.allocate(capacity: slotCount)

    init() {
        slots.initialize(repeating: nil, count: Self.slotCount)
    }

    deinit {
        slots.deinitialize(count: Self.slotCount)
        slots.deallocate()
    }

    /// The key of a text.
    func key(_ text: UnsafeRawBufferPointer) -> ChildKey {
        guard let first = text.first, let last = text.last else { return ChildKey("") }
        let slot = (text.count &* 7 &+ Int(first) &* 5 &+ Int(last)) & (Self.slotCount - 1)
        if let known = slots[slot], known.isText(text) { return known }
        let key = ChildKey(String(decoding: text, as: UTF8.self))
        slots[slot] = key
        return key
    }
}
