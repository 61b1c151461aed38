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

    /// What was written.
    var bytes: [UInt8] { [UInt8](buffer[start...]) }

    /// How many bytes were written.
    var count: Int { buffer.count - start }

    // MARK: Fields, the last first

    /// A text.
    mutating func write(_ text: String, field: UInt64) {
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

    /// Makes a message in a field of what was written since there were so many bytes.
    mutating func enclose(since count: Int, field: UInt64) {
        writeNumber(UInt64(self.count - count))
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
