import CLarder
import Synchronization

/// A field path prepared for repeated look-ups in records.
///
/// It remembers the field's position in the last record, so that a scan over records of one shape
/// finds it without comparing names. Create one for each field of a query, outside the scan.
/// Thread-safe, for records of one store and in memory.
public final class PreparedField: @unchecked Sendable {
    // The bytes are immutable; the remembered position is atomic.

    /// The path.
    public let path: FieldPath

    let isTopLevel: Bool

    private let bytes: UnsafeRawBufferPointer
    /// A shape and, in the upper half, the field's position in it.
    private let memory: Atomic<UInt64>

    /// Prepares a path.
    public init(_ path: FieldPath) {
        self.path = path
        isTopLevel = path.segments.count == 1
        let encoded = path.encoded
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: encoded.count, alignment: 1)
        copy.copyBytes(from: encoded)
        bytes = UnsafeRawBufferPointer(copy)
        var field = larder_field()
        larder_field_init(&field, larder_bytes(bytes))
        memory = Atomic(Self.remembered(field))
    }

    deinit {
        bytes.deallocate()
    }

    /// Finds the field in a record; returns the core's status, with a value or only its type.
    func find(
        in record: UnsafePointer<larder_record>, _ value: inout larder_bytes, _ type: inout Int32
    ) -> Int32 {
        let known = memory.load(ordering: .relaxed)
        var field = larder_field(
            path: larder_bytes(bytes), shape: UInt32(truncatingIfNeeded: known),
            position: Int32(truncatingIfNeeded: known >> 32))
        let status = larder_record_find(record, &field, &value, &type)
        let now = Self.remembered(field)
        if now != known { memory.store(now, ordering: .relaxed) }
        return status
    }

    private static func remembered(_ field: larder_field) -> UInt64 {
        UInt64(field.shape) | UInt64(UInt32(bitPattern: field.position)) << 32
    }
}
