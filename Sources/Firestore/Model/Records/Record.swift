import CLarder

/// A document's fields as encoded bytes, read in place: fields are decoded on request.
///
/// Copies share their bytes. Two records are equal when their fields are, by Firestore's
/// equality.
///
/// A record from a store keeps large fields compressed, as the store does, and decompresses them
/// when one of them is asked for; it needs neither the transaction nor the store for that. Their
/// checksum was tested when the record was read. What can still fail then, a lack of memory or
/// bytes that were damaged before they were first written, is an error of ``load()`` and of
/// everything that throws; to the rest such a record has no fields.
public struct Record: @unchecked Sendable {
    // The core's detached record in the storage may be used by any threads at once.
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
    ///   - maxDepth: the maximum nesting depth of maps and arrays.
    ///   - maxBytes: the maximum size of the fields, by Firestore's published rules.
    /// - Throws: `invalidArgument`, with the condition `invalidRecord`, `tooDeep` or `tooLarge`.
    public init(validating bytes: [UInt8], maxDepth: Int = 20, maxBytes: Int64 = 1_048_576)
        throws(LarderError)
    {
        guard maxDepth > 0, maxDepth <= UInt32.max, maxBytes > 0 else {
            throw .invalidArgument("limits of a record are above 0")
        }
        let checked: Result<RecordStorage, LarderError> = bytes.withUnsafeBytes { buffer in
            Result { () throws(LarderError) in
                try RecordStorage.copying(
                    validating: larder_bytes(buffer), maxDepth: UInt32(maxDepth),
                    maxBytes: maxBytes)
            }
        }
        storage = try checked.get()
    }

    /// Decompresses the compressed part unless that was done before: from then on no access to this
    /// record fails or takes long.
    ///
    /// - Throws: `resourceExhausted` when there is no memory; `dataLoss` when the compressed part
    ///   was damaged before its checksum was made.
    public func load() throws(LarderError) {
        try storage.withLoadedRecord { _ in }
    }

    /// The number of fields at the top level.
    public var count: Int { storage.withRecord { record, _ in larder_record_count(record) } }

    /// The size of the fields in bytes, by Firestore's published rules.
    public var sizeBytes: Int64 {
        (try? storage.withLoadedRecord { larder_record_size($0) }) ?? 0
    }

    /// The number of bytes of the encoded form.
    public var byteCount: Int { withUnsafeBytes { $0.count } }

    /// A copy of the encoded form, which ``init(validating:maxDepth:maxBytes:)`` reads.
    public var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }

    /// Gives the encoded form to a closure without copying it; valid inside the closure only.
    ///
    /// If ``load()`` fails, the bytes are empty, which is not a valid encoded form.
    public func withUnsafeBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        let result: Result<R, Failure>
        do throws(LarderError) {
            result = try storage.withPlainBytes(body)
        } catch {
            result = Result { () throws(Failure) in
                try body(UnsafeRawBufferPointer(start: nil, count: 0))
            }
        }
        return try result.get()
    }

    /// Gives the encoded form to a closure without copying it; valid inside the closure only.
    ///
    /// - Throws: as ``load()``.
    package func withEncodedBytes<R>(_ body: (UnsafeRawBufferPointer) -> R)
        throws(LarderError) -> R
    {
        try storage.withPlainBytes { bytes throws(Never) in body(bytes) }.get()
    }

    /// All fields, decoded; see ``loadedFields()`` for an error instead of none.
    public var fields: MapValue { (try? loadedFields()) ?? MapValue() }

    /// All fields, decoded.
    ///
    /// - Throws: as ``load()``.
    public func loadedFields() throws(LarderError) -> MapValue {
        try withView { view throws(LarderError) in try view.fields() }
    }

    /// The value at a field path, nil when there is none.
    ///
    /// Logarithmic in the number of fields. Call ``load()`` first to distinguish an error from a
    /// missing field.
    public subscript(path: FieldPath) -> Value? {
        (try? withView { view throws(LarderError) in try view.value(at: path) }) ?? nil
    }

    /// Lends the record to a closure, for access to fields without decoding them.
    public func withView<R, Failure: Error>(
        _ body: (borrowing RecordView) throws(Failure) -> R
    ) throws(Failure) -> R {
        try storage.withRecord { record, handle throws(Failure) in
            try body(RecordView(record, storage: handle))
        }
    }

    /// The fields of this record, with each path of the mask set to its value in the source, or
    /// deleted where the source has none.
    ///
    /// Maps on the way are made, and other values on the way are replaced by maps, for a delete
    /// as for a set. A path above another one decides for both.
    public func patched(with source: Record, mask: FieldMask) throws(LarderError) -> Record {
        try RecordBuilder().patch(self, with: source, mask: mask)
    }
}

extension Record: Equatable {
    /// True if the same names have equal values, by Firestore's equality.
    public static func == (left: Record, right: Record) -> Bool {
        if left.storage === right.storage { return true }
        let isEqual = try? left.storage.withLoadedRecord { l in
            try? right.storage.withLoadedRecord { r in areEqual(l, r) }
        }
        return isEqual ?? false
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

// MARK: - Limits

extension Record {
    /// Throws unless a store with these limits takes the record.
    ///
    /// Linear in the number of bytes.
    ///
    /// - Parameters:
    ///   - maxDepth: the maximum nesting depth of maps and arrays.
    ///   - maxBytes: the maximum size of the fields, by Firestore's published rules.
    /// - Throws: `invalidArgument`, with the condition `tooDeep` or `tooLarge`.
    package func checkLimits(maxDepth: Int, maxBytes: Int64) throws(LarderError) {
        var failure = larder_error()
        let status = try withEncodedBytes { bytes in
            var record = larder_record()
            return larder_record_open(
                larder_bytes(bytes), UInt32(clamping: maxDepth), maxBytes, &record, &failure)
        }
        try throwIfFailed(status, failure)
    }
}
