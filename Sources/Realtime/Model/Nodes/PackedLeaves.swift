/// Consecutive children that are leaves without priorities, in one piece of memory.
///
/// As an array each child takes 56 bytes, and 32 or more beside it for text of over 15 bytes.
/// Packed, it takes its text and about five bytes, and changing one child copies the bytes of all
/// instead of counting references to all texts.
///
///     count (1) · estimated size (4) · end of each entry (2 each) · entries
///     entry: size of the key (1) · key · type (1) · value, up to the entry's end
struct PackedLeaves: Sendable {
    /// The most bytes of all: a change copies them.
    private static let maximumBytes = 4096
    private static let sizeOffset = 1
    private static let endsOffset = 5

    let bytes: [UInt8]

    fileprivate enum LeafType: UInt8 {
        case `false`, `true`, integer, double, string
    }
}

// MARK: - Reading

extension PackedLeaves {
    var count: Int { Int(bytes[0]) }

    var summary: ChildrenSummary { ChildrenSummary(leavesOfEstimatedSize: estimatedSize) }

    private var estimatedSize: Int {
        bytes.withUnsafeBytes {
            Int($0.loadUnaligned(fromByteOffset: Self.sizeOffset, as: UInt32.self))
        }
    }

    subscript(index: Int) -> Child {
        withEntry(at: index) { Child(ChildKey(String(decoding: $0.key, as: UTF8.self)), $0.node) }
    }

    func order(at index: Int, to key: ChildKey) -> Int {
        withEntry(at: index) { key.orderOfKey($0.key) }
    }

    var address: UnsafeRawPointer? { bytes.withUnsafeBytes { $0.baseAddress } }

    private func withEntry<R>(at index: Int, _ body: (Entry) -> R) -> R {
        bytes.withUnsafeBytes { body(Entry(at: index, in: $0)) }
    }

    /// Where an entry begins; for the count of entries, where the last one ends.
    fileprivate static func start(of index: Int, in bytes: UnsafeRawBufferPointer) -> Int {
        if index == 0 { return entriesOffset(count: Int(bytes[0])) }
        return Int(
            bytes.loadUnaligned(fromByteOffset: endsOffset + 2 * (index - 1), as: UInt16.self))
    }

    private static func entriesOffset(count: Int) -> Int { endsOffset + 2 * count }
}

/// The bytes of one child.
private struct Entry {
    let key: UnsafeBufferPointer<UInt8>
    let type: UInt8
    let value: UnsafeBufferPointer<UInt8>

    init(at index: Int, in bytes: UnsafeRawBufferPointer) {
        let start = PackedLeaves.start(of: index, in: bytes)
        let end = PackedLeaves.start(of: index + 1, in: bytes)
        let keyEnd = start + 1 + Int(bytes[start])
        key = UnsafeRawBufferPointer(rebasing: bytes[(start + 1)..<keyEnd])
            .assumingMemoryBound(to: UInt8.self)
        type = bytes[keyEnd]
        value = UnsafeRawBufferPointer(rebasing: bytes[(keyEnd + 1)..<end])
            .assumingMemoryBound(to: UInt8.self)
    }

    var node: Node {
        switch PackedLeaves.LeafType(rawValue: type) {
        case .false: Node(.boolean(false))
        case .true: Node(.boolean(true))
        case .integer: Node(.integer(integer))
        case .double: Node(.number(LeafNumber(doubleBits: UInt64(bitPattern: integer))))
        case .string, nil: Node(.string(String(decoding: value, as: UTF8.self)))
        }
    }

    /// The value as a little-endian integer in two's complement.
    private var integer: Int64 {
        if value.isEmpty { return 0 }
        var bits: UInt64 = 0
        for byte in value.reversed() { bits = bits << 8 | UInt64(byte) }
        let unused = 64 - 8 * value.count
        return Int64(bitPattern: bits << UInt64(unused)) >> Int64(unused)
    }
}

// MARK: - Packing

extension PackedLeaves {
    init?(_ children: some Collection<Child>) {
        guard children.count <= UInt8.max else { return nil }
        var size = Self.entriesOffset(count: children.count)
        var estimatedSize = 0
        for child in children {
            guard let entrySize = child.packedSize else { return nil }
            size += entrySize
            estimatedSize += child.summary.estimatedSize
            guard size <= Self.maximumBytes else { return nil }
        }
        self.init(size: size, count: children.count, estimatedSize: estimatedSize) { writer in
            for child in children { writer.append(child) }
        }
    }

    func replacing(_ range: Range<Int>, with child: Child?) -> PackedLeaves? {
        var estimatedSize = estimatedSize
        var newSize = 0
        if let child {
            guard let size = child.packedSize else { return nil }
            newSize = size
            estimatedSize += child.summary.estimatedSize
        }
        for index in range { estimatedSize -= self[index].summary.estimatedSize }
        let count = count - range.count + (child == nil ? 0 : 1)
        return bytes.withUnsafeBytes { old in
            let start = Self.start(of: range.lowerBound, in: old)
            let end = Self.start(of: range.upperBound, in: old)
            let size =
                Self.entriesOffset(count: count) - Self.entriesOffset(count: self.count)
                + old.count - (end - start) + newSize
            guard count <= UInt8.max, size <= Self.maximumBytes else { return nil }
            return PackedLeaves(size: size, count: count, estimatedSize: estimatedSize) { writer in
                writer.append(0..<range.lowerBound, of: old)
                if let child { writer.append(child) }
                writer.append(range.upperBound..<self.count, of: old)
            }
        }
    }

    init?(_ leaves: some Collection<RawLeaf>) {
        guard leaves.count <= UInt8.max else { return nil }
        var size = Self.entriesOffset(count: leaves.count)
        var estimatedSize = 0
        for leaf in leaves {
            guard leaf.key.count <= UInt8.max else { return nil }
            size += 2 + leaf.key.count + leaf.value.packedSize
            estimatedSize += leaf.estimatedSize
            guard size <= Self.maximumBytes else { return nil }
        }
        self.init(size: size, count: leaves.count, estimatedSize: estimatedSize) { writer in
            for leaf in leaves { writer.append(leaf) }
        }
    }

    private init(size: Int, count: Int, estimatedSize: Int, _ write: (inout Writer) -> Void) {
        bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes[0] = UInt8(truncatingIfNeeded: count)
            bytes.storeBytes(
                of: UInt32(truncatingIfNeeded: estimatedSize), toByteOffset: Self.sizeOffset,
                as: UInt32.self)
            var writer = Writer(bytes: bytes, offset: Self.entriesOffset(count: count))
            write(&writer)
            initialized = writer.offset
        }
    }

    /// Writes entries and their ends, one after another.
    fileprivate struct Writer {
        let bytes: UnsafeMutableRawBufferPointer
        var offset: Int
        private var index = 0

        init(bytes: UnsafeMutableRawBufferPointer, offset: Int) {
            (self.bytes, self.offset) = (bytes, offset)
        }

        mutating func append(_ child: Child) {
            guard case .leaf(let value) = child.node.storage else { return }
            child.key.text.withUTF8Buffer { key in
                let key = UnsafeRawBufferPointer(key)
                switch value {
                case .boolean(let flag): append(RawLeaf(key: key, value: .boolean(flag)))
                case .number(let number): append(RawLeaf(key: key, value: .number(number)))
                case .string(let text):
                    text.withUTF8Buffer {
                        append(RawLeaf(key: key, value: .text(UnsafeRawBufferPointer($0))))
                    }
                case .deferred: break
                }
            }
        }

        mutating func append(_ leaf: RawLeaf) {
            appendByte(UInt8(truncatingIfNeeded: leaf.key.count))
            append(leaf.key)
            switch leaf.value {
            case .boolean(let flag): append(flag ? .true : .false)
            case .number(let number):
                if let bits = number.doubleBits {
                    append(.double)
                    append(bits, size: 8)
                } else if let integer = number.integer {
                    append(.integer)
                    append(UInt64(bitPattern: integer), size: integer.packedSize)
                }
            case .text(let text):
                append(.string)
                append(text)
            }
            endEntry()
        }

        /// Copies entries.
        mutating func append(_ range: Range<Int>, of other: UnsafeRawBufferPointer) {
            let start = PackedLeaves.start(of: range.lowerBound, in: other)
            let shift = offset - start
            for index in range {
                offset = PackedLeaves.start(of: index + 1, in: other) + shift
                endEntry()
            }
            let source = UnsafeRawBufferPointer(rebasing: other[start..<(offset - shift)])
            UnsafeMutableRawBufferPointer(rebasing: bytes[(start + shift)..<offset])
                .copyMemory(from: source)
        }

        private mutating func append(_ type: LeafType) {
            appendByte(type.rawValue)
        }

        private mutating func append(_ text: UnsafeRawBufferPointer) {
            UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<(offset + text.count)])
                .copyMemory(from: text)
            offset += text.count
        }

        /// Appends the lowest bytes of a number, little-endian.
        private mutating func append(_ bits: UInt64, size: Int) {
            for index in 0..<size {
                appendByte(UInt8(truncatingIfNeeded: bits >> UInt64(8 * index)))
            }
        }

        private mutating func appendByte(_ byte: UInt8) {
            bytes[offset] = byte
            offset += 1
        }

        private mutating func endEntry() {
            bytes.storeBytes(
                of: UInt16(truncatingIfNeeded: offset),
                toByteOffset: PackedLeaves.endsOffset + 2 * index, as: UInt16.self)
            index += 1
        }
    }
}

extension Child {
    /// The bytes of the child's entry; nil if it cannot be packed.
    fileprivate var packedSize: Int? {
        guard case .leaf(let value) = node.storage, !key.isSentinel else { return nil }
        let keySize = key.text.utf8.count
        guard keySize <= UInt8.max else { return nil }
        switch value {
        case .boolean: return keySize + 2
        case .number(let number): return keySize + 2 + number.packedSize
        case .string(let text): return keySize + 2 + text.utf8.count
        case .deferred: return nil
        }
    }
}

extension LeafNumber {
    fileprivate var packedSize: Int { integer?.packedSize ?? 8 }
}

extension RawLeaf.Value {
    fileprivate var packedSize: Int {
        switch self {
        case .boolean: 0
        case .number(let number): number.packedSize
        case .text(let text): text.count
        }
    }
}

extension Int64 {
    /// The fewest bytes in two's complement.
    fileprivate var packedSize: Int {
        self == 0 ? 0 : (64 - (self ^ self >> 63).leadingZeroBitCount) / 8 + 1
    }
}
