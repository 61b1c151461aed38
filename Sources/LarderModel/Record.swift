import CLarder

/// A document's fields as encoded bytes, read in place: a field is decoded when it is asked for.
///
/// Copies share their bytes. Two records are equal when their fields are, by Firestore's
/// equality.
public struct Record: Sendable {
    let storage: RecordStorage

    init(storage: RecordStorage) {
        self.storage = storage
    }

    /// Encodes fields; see ``RecordBuilder`` for many documents.
    ///
    /// - Throws: `invalidArgument` for an empty or too long field name, or arrays and maps
    ///   nested beyond 128 levels.
    public init(_ fields: MapValue) throws(LarderError) {
        self = try RecordBuilder().encode(fields)
    }

    /// Checks bytes from elsewhere in full and takes them.
    ///
    /// Linear in the number of bytes.
    ///
    /// - Parameters:
    ///   - bytes: a plain record, as ``bytes`` gives it.
    ///   - maxDepth: how deep maps and arrays may be nested.
    ///   - maxBytes: what the fields may count towards the document size limit.
    /// - Throws: `invalidArgument`, with the condition `invalidRecord`, `tooDeep` or `tooLarge`.
    public init(validating bytes: [UInt8], maxDepth: Int = 20, maxBytes: Int64 = 1_048_576)
        throws(LarderError)
    {
        guard maxDepth > 0, maxDepth <= UInt32.max, maxBytes > 0 else {
            throw .invalidArgument("limits of a record are above 0")
        }
        let checked: Result<RecordStorage, LarderError> = bytes.withUnsafeBytes { buffer in
            Result { () throws(LarderError) in
                try RecordStorage(
                    copying: larder_bytes(buffer), maxDepth: UInt32(maxDepth), maxBytes: maxBytes)
            }
        }
        storage = try checked.get()
    }

    /// The number of fields at the top level.
    public var count: Int { storage.withRecord { larder_record_count($0) } }

    /// What the fields count towards the document size limit, by Firestore's published rules.
    public var sizeBytes: Int64 { storage.withRecord { larder_record_size($0) } }

    /// The number of bytes of the encoded form.
    public var byteCount: Int { storage.byteCount }

    /// A copy of the encoded form, which ``init(validating:maxDepth:maxBytes:)`` takes back.
    public var bytes: [UInt8] { storage.withBytes { [UInt8]($0) } }

    /// Gives the encoded form to a closure without copying it; valid inside the closure only.
    public func withUnsafeBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        try storage.withBytes(body)
    }

    /// All fields, decoded.
    public var fields: MapValue {
        // The bytes were checked when the record was made, so that decoding does not fail.
        withView { view in (try? view.fields()) ?? MapValue() }
    }

    /// The value at a field path, nil when there is none.
    ///
    /// Logarithmic in the number of fields.
    public subscript(path: FieldPath) -> Value? {
        let field = PreparedField(path)
        // The bytes were checked when the record was made, so that decoding does not fail.
        return withView { view in
            (try? view.value(at: field)) ?? nil
        }
    }

    /// Lends the record to a closure, to look at fields without decoding them.
    public func withView<R, Failure: Error>(
        _ body: (borrowing RecordView) throws(Failure) -> R
    ) throws(Failure) -> R {
        try storage.withRecord { (record) throws(Failure) in
            try body(RecordView(UnsafeRawPointer(record), scratch: nil))
        }
    }

    /// The fields of this record, with each path of the mask set to its value in the source, or
    /// deleted where the source has none.
    ///
    /// Maps on the way are made, other values on the way to a set are replaced by maps, and a
    /// delete below a missing or non-map value does nothing.
    public func patched(with source: Record, mask: FieldMask) throws(LarderError) -> Record {
        try RecordBuilder().patch(self, with: source, mask: mask)
    }
}

extension Record: Equatable {
    /// Whether the same names have equal values, by Firestore's equality.
    public static func == (left: Record, right: Record) -> Bool {
        if left.storage === right.storage { return true }
        return left.storage.withRecord { l in
            right.storage.withRecord { r in Self.areEqual(l, r) }
        }
    }

    private static func areEqual(
        _ left: UnsafePointer<larder_record>, _ right: UnsafePointer<larder_record>
    ) -> Bool {
        let count = larder_record_count(left)
        guard count == larder_record_count(right) else { return false }
        for position in 0..<count {
            var (leftName, leftValue) = (larder_bytes(), larder_bytes())
            var (rightName, rightValue) = (larder_bytes(), larder_bytes())
            guard larder_record_get_entry(left, position, &leftName, &leftValue, nil) == .ok,
                larder_record_get_entry(right, position, &rightName, &rightValue, nil) == .ok,
                leftName.buffer.elementsEqual(rightName.buffer),
                larder_value_equal(leftValue, rightValue) != 0
            else { return false }
        }
        return true
    }
}

extension Record: CustomStringConvertible {
    /// The fields.
    public var description: String { fields.description }
}
