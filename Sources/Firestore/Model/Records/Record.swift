import CLarder

/// A document's fields in encoded form; fields are decoded on access.
///
/// Copies share their bytes. Records are equal if their fields are, by Firestore's equality.
///
/// A record from a store keeps large fields compressed and decompresses them on first access, which
/// requires neither the transaction nor the store. Their checksum is verified when the record is
/// read. If decompression fails nevertheless, because memory is exhausted or the bytes were damaged
/// before they were first written, ``load()`` and all throwing methods throw; to the others such a
/// record is empty.
public struct Record: @unchecked Sendable {
    // The core's detached record can be used by any number of threads at once.
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

    /// Validates and copies encoded bytes from another source.
    ///
    /// Linear in the number of bytes.
    ///
    /// - Parameters:
    ///   - bytes: a plain record, as in ``bytes``.
    ///   - maxDepth: the maximum nesting depth of maps and arrays.
    ///   - maxBytes: the maximum size of the fields, by Firestore's published rules.
    /// - Throws: `invalidArgument`, with the condition `invalidRecord`, `tooDeep` or `tooLarge`.
    public init(validating bytes: [UInt8], maxDepth: Int = 20, maxBytes: Int64 = 1_048_576)
        throws(LarderError)
    {
        guard maxDepth > 0, maxDepth <= UInt32.max, maxBytes > 0 else {
            throw .invalidArgument("the limits of a record must be positive")
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

    /// Decompresses the compressed part if necessary: later accesses to this record neither fail
    /// nor take long.
    ///
    /// - Throws: `resourceExhausted` if out of memory; `dataLoss` if the compressed part was
    ///   damaged before its checksum was computed.
    public func load() throws(LarderError) {
        try storage.withLoadedRecord { _ in }
    }

    /// The number of fields at the top level.
    public var count: Int { storage.withRecord { record, _ in larder_record_count(record) } }

    /// The size of the fields in bytes, by Firestore's published rules.
    public var sizeBytes: Int64 {
        (try? storage.withLoadedRecord { larder_record_size($0) }) ?? 0
    }

    /// The size of the fields if it exceeds a number of bytes, and nil otherwise.
    ///
    /// No encoded byte counts for more than 16: small records are not walked.
    package func sizeBytes(above bytes: Int64) -> Int64? {
        guard byteCount > bytes / 32 else { return nil }
        let size = sizeBytes
        return size > bytes ? size : nil
    }

    /// The bytes that names and values take up in memory once they are decompressed; decompresses
    /// nothing.
    package var memoryBytes: Int {
        storage.withRecord { record, _ in
            record.pointee.names.size_bytes + record.pointee.values.size_bytes
                + Int(record.pointee.cold_raw_bytes)
        }
    }

    /// The size of the encoded form in bytes.
    public var byteCount: Int { withUnsafeBytes { $0.count } }

    /// A copy of the encoded form, for ``init(validating:maxDepth:maxBytes:)``.
    public var bytes: [UInt8] { withUnsafeBytes { [UInt8]($0) } }

    /// Calls a closure with the encoded form without copying it; valid only inside the closure.
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

    /// Calls a closure with the encoded form without copying it; valid only inside the closure.
    ///
    /// - Throws: as ``load()``.
    package func withEncodedBytes<R>(_ body: (UnsafeRawBufferPointer) -> R)
        throws(LarderError) -> R
    {
        try storage.withPlainBytes { bytes throws(Never) in body(bytes) }.get()
    }

    /// All fields, decoded; empty after an error, which ``loadedFields()`` throws.
    public var fields: MapValue { (try? loadedFields()) ?? MapValue() }

    /// All fields, decoded.
    ///
    /// - Throws: as ``load()``.
    public func loadedFields() throws(LarderError) -> MapValue {
        try withView { view throws(LarderError) in try view.fields() }
    }

    /// The value at a field path; nil if there is none.
    ///
    /// Logarithmic in the number of fields. Call ``load()`` first to distinguish an error from a
    /// missing field.
    public subscript(path: FieldPath) -> Value? {
        (try? withView { view throws(LarderError) in try view.value(at: path) }) ?? nil
    }

    /// Calls a closure with a view of the record, for access to fields without decoding.
    public func withView<R, Failure: Error>(
        _ body: (borrowing RecordView) throws(Failure) -> R
    ) throws(Failure) -> R {
        try storage.withRecord { record, handle throws(Failure) in
            try body(RecordView(record, storage: handle))
        }
    }

    /// A copy with each path of the mask set to its value in the source, or deleted if the source
    /// has none.
    ///
    /// Missing maps on the way are created, and other values on the way are replaced by maps, for
    /// deletes as for sets. A path takes precedence over paths below it.
    public func patched(with source: Record, mask: FieldMask) throws(LarderError) -> Record {
        try RecordBuilder().patch(self, with: source, mask: mask)
    }
}

extension Record: Equatable {
    /// True if both have the same fields with equal values, by Firestore's equality.
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

extension Record {
    /// True if both have the same encoded form: equal fields, with the same types of numbers.
    package func hasSameBytes(as other: Record) -> Bool {
        if storage === other.storage { return true }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                !left.isEmpty && left.count == right.count && left.elementsEqual(right)
            }
        }
    }
}

extension Record: CustomStringConvertible {
    /// The fields.
    public var description: String { fields.description }
}

// MARK: - Limits

extension Record {
    /// Throws unless a store with these limits accepts the record.
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
