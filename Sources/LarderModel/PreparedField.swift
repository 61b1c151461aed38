import CLarder

/// A field path prepared for repeated look-up in records.
///
/// It remembers where the field lay in the last record, so that a scan over records of one
/// shape finds it without comparing names. Make one for each field of a query, outside the
/// scan. Use it on one thread at a time.
public final class PreparedField {
    /// The path.
    public let path: FieldPath

    private let bytes: UnsafeMutableRawBufferPointer
    let pointer: UnsafeMutablePointer<larder_field>

    /// Prepares a path.
    public init(_ path: FieldPath) {
        self.path = path
        let encoded = path.encoded
        bytes = .allocate(byteCount: encoded.count, alignment: 1)
        bytes.copyBytes(from: encoded)
        pointer = .allocate(capacity: 1)
        pointer.initialize(to: larder_field())
        larder_field_init(pointer, larder_bytes(data: bytes.baseAddress, size_bytes: bytes.count))
    }

    deinit {
        pointer.deallocate()
        bytes.deallocate()
    }

    /// Whether the field is at the top level of the document.
    var isTopLevel: Bool { path.segments.count == 1 }
}
