import CLarder
import LarderRealtimeModel

/// Encodes nodes as the storage core has them (`larder.h`, "nodes").
struct NodeWriter {
    private(set) var bytes: [UInt8] = []

    /// - Parameter capacity: an estimate of the bytes that will be written.
    init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends a node; nothing for an empty one.
    mutating func append(_ node: Node) {
        if let leaf = node.leafValue {
            append(leaf, priority: node.priority)
        } else if !node.isEmpty {
            appendChildren(of: node)
        }
    }

    private mutating func appendChildren(of node: Node) {
        append(type: LARDER_NODE_CHILDREN, priority: node.priority)
        let size = bytes.count
        bytes.append(contentsOf: [0, 0, 0, 0])
        for child in node.children {
            append(text: child.key.text)
            append(child.node)
        }
        bytes.withUnsafeMutableBytes { bytes in
            let count = UInt32(truncatingIfNeeded: bytes.count - size - 4)
            bytes.storeBytes(of: count.littleEndian, toByteOffset: size, as: UInt32.self)
        }
    }

    // MARK: Leaves

    private mutating func append(_ leaf: LeafValue, priority: Priority = .none) {
        switch leaf {
        case .boolean(let flag):
            append(type: flag ? LARDER_NODE_TRUE : LARDER_NODE_FALSE, priority: priority)
        case .number(let number):
            if let integer = number.integer {
                append(type: LARDER_NODE_INTEGER, priority: priority)
                append(number: UInt64(bitPattern: integer << 1 ^ integer >> 63))
            } else {
                append(type: LARDER_NODE_DOUBLE, priority: priority)
                append(fixed: number.double.bitPattern)
            }
        case .string(let text):
            append(type: LARDER_NODE_STRING, priority: priority)
            append(text: text)
        case .deferred(let value):
            append(type: LARDER_NODE_SERVER_VALUE, priority: priority)
            append(text: value.storedText)
        }
    }

    private mutating func append(type: Int, priority: Priority) {
        guard let leaf = priority.leaf else {
            bytes.append(UInt8(truncatingIfNeeded: type))
            return
        }
        bytes.append(UInt8(truncatingIfNeeded: type) | NodeReader.priorityFlag)
        append(leaf)
    }

    // MARK: Parts

    /// Appends a number as a varint.
    mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends text behind its size.
    mutating func append(text: String) {
        append(number: UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends a path as text behind its size.
    mutating func append(_ path: TreePath) {
        append(text: path.text)
    }

    /// Appends a node behind its size.
    mutating func append(sized node: Node) {
        var writer = NodeWriter()
        writer.append(node)
        append(number: UInt64(writer.bytes.count))
        bytes.append(contentsOf: writer.bytes)
    }

    /// Appends a path as text.
    mutating func append(textOf path: TreePath) {
        bytes.append(path)
    }

    mutating func append(byte: UInt8) {
        bytes.append(byte)
    }

    private mutating func append(fixed bits: UInt64) {
        withUnsafeBytes(of: bits.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

extension ServerValue {
    /// The text that stands for the value in an encoded node.
    var storedText: String {
        switch self {
        case .timestamp: return "timestamp"
        case .increment(let delta):
            if let integer = delta.integer { return "increment \(integer)" }
            return "increment #\(String(delta.double.bitPattern, radix: 16))"
        }
    }

    /// The value that a text stands for; nil for any other.
    init?(storedText text: String) {
        if text == "timestamp" {
            self = .timestamp
            return
        }
        guard text.hasPrefix("increment ") else { return nil }
        let number = text.dropFirst("increment ".count)
        if let integer = Int64(number) {
            self = .increment(LeafNumber(integer))
        } else if number.hasPrefix("#"), let bits = UInt64(number.dropFirst(), radix: 16),
            let delta = LeafNumber(Double(bitPattern: bits))
        {
            self = .increment(delta)
        } else {
            return nil
        }
    }
}
