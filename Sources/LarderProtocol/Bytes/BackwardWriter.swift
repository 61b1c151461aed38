import SwiftProtobuf

/// Writes the bytes of a message from its end to its beginning.
///
/// So the length of what is embedded is known when it is written, and no message is gone through
/// twice: what SwiftProtobuf does for each level of nesting.
struct BackwardWriter: ~Copyable {
    private var buffer: UnsafeMutableRawBufferPointer
    /// Where what was written begins.
    private var start: Int

    /// A writer that has room for so many bytes, and makes more when it needs it.
    init(capacity: Int) {
        buffer = .allocate(byteCount: max(capacity, 64), alignment: 1)
        start = buffer.count
    }

    deinit { buffer.deallocate() }

    /// Lends what was written.
    func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try body(UnsafeRawBufferPointer(rebasing: buffer[start...]))
    }

    // MARK: Fields, the last first

    /// A text, as a field or the name of one; none for an empty one.
    mutating func write(_ text: String, field: UInt64) {
        guard !text.isEmpty else { return }
        writeAlways(text, field: field)
    }

    /// A text, also an empty one.
    mutating func writeAlways(_ text: String, field: UInt64) {
        var text = text
        text.withUTF8 { writeContent(UnsafeRawBufferPointer($0), field: field) }
    }

    /// Bytes, or a message that is bytes already.
    mutating func writeContent(_ bytes: UnsafeRawBufferPointer, field: UInt64) {
        makeRoom(bytes.count)
        start -= bytes.count
        UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(from: bytes)
        writeNumber(UInt64(bytes.count))
        writeNumber(field << 3 | 2)
    }

    /// A number that varies in length.
    mutating func write(_ number: UInt64, field: UInt64) {
        writeNumber(number)
        writeNumber(field << 3)
    }

    /// A number of eight bytes.
    mutating func write(_ number: Double, field: UInt64) {
        makeRoom(8)
        start -= 8
        buffer.storeBytes(
            of: number.bitPattern.littleEndian, toByteOffset: start, as: UInt64.self)
        writeNumber(field << 3 | 1)
    }

    /// A message of what a closure writes.
    mutating func write(field: UInt64, _ body: (inout BackwardWriter) throws -> Void) rethrows {
        let end = buffer.count - start
        try body(&self)
        writeNumber(UInt64(buffer.count - start - end))
        writeNumber(field << 3 | 2)
    }

    /// Numbers without a name, the last first.
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
        let used = buffer.count - start
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: 2 * buffer.count + count, alignment: 1)
        UnsafeMutableRawBufferPointer(rebasing: larger[(larger.count - used)...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start...]))
        buffer.deallocate()
        buffer = larger
        start = larger.count - used
    }
}
