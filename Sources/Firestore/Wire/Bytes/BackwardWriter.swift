import LarderModel
import SwiftProtobuf

#if !Networking
    #error("this product needs the trait Networking of the package larder")
#endif

/// Encodes a message from its end to its beginning.
///
/// The length of an embedded message is then known when its prefix is written; SwiftProtobuf
/// traverses each level of nesting twice.
struct BackwardWriter: ~Copyable {
    private var buffer: UnsafeMutableRawBufferPointer
    /// The offset of the first written byte.
    private var start: Int

    /// Creates a writer with an initial capacity; it grows on demand.
    init(capacity: Int) {
        buffer = .allocate(byteCount: max(capacity, 64), alignment: 1)
        start = buffer.count
    }

    deinit { buffer.deallocate() }

    var bytes: [UInt8] { [UInt8](buffer[start...]) }

    var count: Int { buffer.count - start }

    // MARK: Fields, last first

    mutating func write(_ text: String, field: UInt64) {
        var text = text
        text.withUTF8 { writeContent(UnsafeRawBufferPointer($0), field: field) }
    }

    /// Writes a length-delimited field.
    mutating func writeContent(_ bytes: UnsafeRawBufferPointer, field: UInt64) {
        makeRoom(bytes.count)
        start -= bytes.count
        UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(from: bytes)
        writeNumber(UInt64(bytes.count))
        writeNumber(field << 3 | 2)
    }

    mutating func write(_ number: UInt64, field: UInt64) {
        writeNumber(number)
        writeNumber(field << 3)
    }

    mutating func write(_ number: Double, field: UInt64) {
        makeRoom(8)
        start -= 8
        buffer.storeBytes(
            of: number.bitPattern.littleEndian, toByteOffset: start, as: UInt64.self)
        writeNumber(field << 3 | 1)
    }

    /// Wraps everything written since the count was `count` in a message field.
    mutating func enclose(since count: Int, field: UInt64) {
        writeNumber(UInt64(self.count - count))
        writeNumber(field << 3 | 2)
    }

    /// Writes a varint without a tag.
    mutating func writeNumber(_ number: UInt64) {
        var count = 1
        var rest = number >> 7
        while rest > 0 {
            count += 1
            rest >>= 7
        }
        makeRoom(count)
        start -= count
        rest = number
        for position in 0..<count {
            let more: UInt8 = position == count - 1 ? 0 : 0x80
            buffer[start + position] = UInt8(truncatingIfNeeded: rest & 0x7f) | more
            rest >>= 7
        }
    }

    private mutating func makeRoom(_ count: Int) {
        guard start < count else { return }
        let used = self.count
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: 2 * buffer.count + count, alignment: 1)
        UnsafeMutableRawBufferPointer(rebasing: larger[(larger.count - used)...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start...]))
        buffer.deallocate()
        buffer = larger
        start = larger.count - used
    }
}

// MARK: - Records

/// Records as the fields of a document message, byte for byte as SwiftProtobuf encodes the messages
/// of ``MessageCoder``.
extension BackwardWriter {
    /// Writes the fields of a record, in UTF-8 order of their names.
    ///
    /// - Throws: `dataLoss` for a damaged record; `invalidArgument` for values that exist only
    ///   locally.
    mutating func write(_ record: Record, field: UInt64) throws(LarderError) {
        try record.withView { view throws(LarderError) in
            try view.forEachFieldFromLast { name, value throws(LarderError) in
                try writeEntry(name, value, field: field)
            }
        }
    }

    mutating func write(_ time: Timestamp, field: UInt64) {
        let end = count
        if time.nanoseconds != 0 {
            write(UInt64(bitPattern: Int64(time.nanoseconds)), field: 2)
        }
        if time.seconds != 0 { write(UInt64(bitPattern: time.seconds), field: 1) }
        enclose(since: end, field: field)
    }

    /// Writes packed target IDs; nothing for an empty list.
    mutating func write(_ targetIDs: [Int32], field: UInt64) {
        guard !targetIDs.isEmpty else { return }
        let end = count
        for id in targetIDs.reversed() { writeNumber(UInt64(bitPattern: Int64(id))) }
        enclose(since: end, field: field)
    }

    private mutating func writeEntry(
        _ name: UnsafeRawBufferPointer, _ value: borrowing ValueView, field: UInt64
    ) throws(LarderError) {
        let end = count
        try write(value, field: 2)
        if !name.isEmpty { writeContent(name, field: 1) }
        enclose(since: end, field: field)
    }

    private mutating func write(_ value: borrowing ValueView, field: UInt64) throws(LarderError) {
        let end = count
        try write(value)
        enclose(since: end, field: field)
    }

    private mutating func write(_ value: borrowing ValueView) throws(LarderError) {
        switch value.type {
        case .null: write(UInt64(0), field: 11)
        case .boolean: write(UInt64(try sound(value.boolean) ? 1 : 0), field: 1)
        case .integer: write(UInt64(bitPattern: try sound(value.integer)), field: 2)
        case .double: write(try sound(value.double), field: 3)
        case .timestamp: write(try sound(value.timestamp), field: 10)
        case .string: try writeContent(value, field: 17)
        case .bytes: try writeContent(value, field: 18)
        case .reference: try writeContent(value, field: 5)
        case .geoPoint: write(try sound(value.geoPoint))
        case .array:
            let end = count
            try value.forEachElementFromLast { element throws(LarderError) in
                try write(element, field: 1)
            }
            enclose(since: end, field: 9)
        case .vector: write(try sound(value.vector))
        case .map:
            let end = count
            try value.forEachEntryFromLast { name, value throws(LarderError) in
                try writeEntry(name, value, field: 1)
            }
            enclose(since: end, field: 6)
        case .serverTimestamp:
            throw .invalidArgument("a pending server timestamp cannot be sent")
        case .max: throw .invalidArgument("the maximum value cannot be sent")
        case nil: throw .damagedValue
        }
    }

    private mutating func writeContent(_ value: borrowing ValueView, field: UInt64)
        throws(LarderError)
    {
        try sound(value.withUnsafeContent { writeContent($0, field: field) })
    }

    private mutating func write(_ place: GeoPoint) {
        let end = count
        if place.longitude.bitPattern != 0 { write(place.longitude, field: 2) }
        if place.latitude.bitPattern != 0 { write(place.latitude, field: 1) }
        enclose(since: end, field: 8)
    }

    /// Writes the map that represents a vector.
    private mutating func write(_ vector: VectorValue) {
        let map = count
        var end = count
        for component in vector.components.reversed() {
            let element = count
            write(component, field: 3)
            enclose(since: element, field: 1)
        }
        enclose(since: end, field: 9)
        enclose(since: end, field: 2)
        write(VectorValue.componentsName, field: 1)
        enclose(since: end, field: 1)
        end = count
        write(VectorValue.typeText, field: 17)
        enclose(since: end, field: 2)
        write(VectorValue.typeName, field: 1)
        enclose(since: end, field: 1)
        enclose(since: map, field: 6)
    }

    /// The content, or `dataLoss` if it does not match the value's type.
    private func sound<T>(_ content: T?) throws(LarderError) -> T {
        guard let content else { throw .damagedValue }
        return content
    }
}
