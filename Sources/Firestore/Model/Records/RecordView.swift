import CLarder
public import Foundation

/// A record passed to a closure: fields are found, compared and decoded in place.
///
/// It cannot be copied or stored. Comparisons decode and allocate nothing, except that the record's
/// compressed part is decompressed once, into memory that a scan reuses, when a field in it is
/// accessed.
public struct RecordView: ~Copyable {
    let record: UnsafePointer<larder_record>
    private let loader: Loader

    /// The decompression of the compressed part, performed once.
    private enum Loader {
        case scratch(UnsafeMutablePointer<RecordScratch>)
        case storage(OpaquePointer?)
    }

    /// Views a `larder_record`, which must outlive the view, as must the scratch.
    package init(_ record: UnsafeRawPointer, scratch: UnsafeMutablePointer<RecordScratch>) {
        self.record = record.assumingMemoryBound(to: larder_record.self)
        loader = .scratch(scratch)
    }

    init(_ record: UnsafePointer<larder_record>, storage handle: OpaquePointer?) {
        self.record = record
        loader = .storage(handle)
    }

    /// The number of fields at the top level.
    public var count: Int { larder_record_count(record) }

    /// The decoded value at a field; nil if there is none.
    ///
    /// - Throws: `dataLoss` if the compressed part is damaged.
    public func value(at field: PreparedField) throws(LarderError) -> Value? {
        guard let found = try find(field) else { return nil }
        return try Value(decoding: found)
    }

    /// The decoded value at a field path; nil if there is none.
    ///
    /// For a single look-up: a ``PreparedField`` is faster in scans.
    ///
    /// - Throws: `dataLoss` if the compressed part is damaged.
    public func value(at path: FieldPath) throws(LarderError) -> Value? {
        guard let found = try find(path) else { return nil }
        return try Value(decoding: found)
    }

    /// Calls a closure with the value at a field path; returns nil without a call if there is none.
    ///
    /// For a single look-up: a ``PreparedField`` is faster in scans.
    ///
    /// - Throws: `dataLoss` if the compressed part is damaged.
    package func withValue<R>(
        at path: FieldPath, _ body: (borrowing ValueView) -> R
    ) throws(LarderError) -> R? {
        guard let found = try find(path) else { return nil }
        return body(ValueView(found))
    }

    /// The type of the value at a field; nil if there is none.
    ///
    /// Decompresses nothing for fields at the top level.
    public func type(of field: PreparedField) throws(LarderError) -> ValueType? {
        guard let found = try find(field, orType: { _ in true }) else { return nil }
        switch found {
        case .value(let value): return ValueType(rawValue: larder_value_type(value))
        case .type(let type): return type
        }
    }

    /// Calls a closure with the value at a field; returns nil without a call if there is none.
    @inlinable
    public func withValue<R>(
        at field: PreparedField, _ body: (borrowing ValueView) throws(LarderError) -> R
    ) throws(LarderError) -> R? {
        var result: R?
        try visitValue(at: field) { value throws(LarderError) in result = try body(value) }
        return result
    }

    /// Calls a closure with the value at a field, if there is one.
    ///
    /// Not generic, so that only its thin callers are specialised.
    @usableFromInline
    func visitValue(
        at field: PreparedField, _ body: (borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        guard let found = try find(field) else { return }
        try body(ValueView(found))
    }

    /// The order of the value at a field relative to another value; nil if there is no such field.
    ///
    /// A compressed field of another type is not decompressed.
    public func compare(_ field: PreparedField, to other: EncodedValue)
        throws(LarderError) -> ComparisonResult?
    {
        let rank = other.type.rank
        guard let found = try find(field, orType: { $0.rank != rank }) else { return nil }
        switch found {
        case .value(let value):
            return other.withBorrowedBytes {
                ComparisonResult(order: larder_value_compare(value, $0))
            }
        case .type(let type):
            return type.rank < rank ? .orderedAscending : .orderedDescending
        }
    }

    /// The order of the value at a field relative to another value; nil if there is no such field
    /// or its type differs.
    ///
    /// Integers and doubles count as one type. A compressed field of another type is not
    /// decompressed.
    public func compareWithinType(_ field: PreparedField, to other: EncodedValue)
        throws(LarderError) -> ComparisonResult?
    {
        // The common case in scans: one look-up, no closures.
        let rank = other.type.rank
        var value = larder_bytes()
        var type: Int32 = 0
        var status = field.find(in: record, &value, &type)
        if status == .cold {
            if field.isTopLevel, ValueType.rank(ofCode: type) != rank { return nil }
            status = field.find(in: try load(), &value, &type)
        }
        guard status == .ok, ValueType.rank(ofCode: type) == rank else {
            if status < 0 { throw LarderError(status: status) }
            return nil
        }
        return other.withBorrowedBytes { ComparisonResult(order: larder_value_compare(value, $0)) }
    }

    /// The order of a field in two records; nil if one of them lacks it.
    public func compare(_ field: PreparedField, with other: borrowing RecordView)
        throws(LarderError) -> ComparisonResult?
    {
        guard let left = try find(field), let right = try other.find(field) else { return nil }
        return ComparisonResult(order: larder_value_compare(left, right))
    }

    /// True if the value at a field equals another, by Firestore's equality; false if there is no
    /// such field.
    public func isEqual(_ field: PreparedField, to other: EncodedValue) throws(LarderError) -> Bool
    {
        let type = other.type
        guard case .value(let value)? = try find(field, orType: { $0 != type }) else {
            return false
        }
        return other.withBorrowedBytes { larder_value_equal(value, $0) != 0 }
    }

    /// Calls the closure with every field at the top level, in UTF-8 order of names.
    ///
    /// - Throws: `dataLoss` if the compressed part is damaged.
    public func forEachField(
        _ body: (String, borrowing ValueView) -> IterationStep
    ) throws(LarderError) {
        let whole = try loaded()
        for position in 0..<larder_record_count(whole) {
            let (name, value) = try Self.entry(of: whole, at: position)
            if body(name.text, ValueView(value)) == .stop { return }
        }
    }

    /// Calls a closure with every top-level field, last first, and the UTF-8 of its name.
    ///
    /// - Throws: `dataLoss` for a damaged record; the closure's error.
    package func forEachFieldFromLast(
        _ body: (UnsafeRawBufferPointer, borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        let whole = try loaded()
        for position in (0..<larder_record_count(whole)).reversed() {
            let (name, value) = try Self.entry(of: whole, at: position)
            try body(name.buffer, ValueView(value))
        }
    }

    /// All fields, decoded.
    ///
    /// - Throws: `dataLoss` if the compressed part is damaged.
    public func fields() throws(LarderError) -> MapValue {
        var entries: [MapValue.Element] = []
        entries.reserveCapacity(count)
        var failure: LarderError?
        try forEachField { name, value in
            do throws(LarderError) {
                entries.append((name, try value.value()))
                return .continue
            } catch {
                failure = error
                return .stop
            }
        }
        if let failure { throw failure }
        return MapValue(ordered: entries)
    }

    /// A copy of the record that outlives the closure, the transaction and the store.
    ///
    /// Copies the stored bytes; the copy decompresses the compressed part when a field in it is
    /// accessed.
    ///
    /// - Throws: `dataLoss` if the checksum of the compressed part does not match.
    public func copy() throws(LarderError) -> Record {
        Record(storage: try RecordStorage.copying(record))
    }
}

extension RecordView {
    /// The result of a look-up: a value, or only the type of a compressed one.
    private enum Found {
        case value(larder_bytes)
        case type(ValueType)
    }

    private func load() throws(LarderError) -> UnsafePointer<larder_record> {
        switch loader {
        case .scratch(let scratch): try RecordScratch.load(record, into: scratch)
        case .storage(let handle): try RecordStorage.load(handle)
        }
    }

    private func loaded() throws(LarderError) -> UnsafePointer<larder_record> {
        try larder_record_cold_bytes(record) == 0 ? record : load()
    }

    private static func entry(of record: UnsafePointer<larder_record>, at position: Int)
        throws(LarderError) -> (name: larder_bytes, value: larder_bytes)
    {
        var (name, value) = (larder_bytes(), larder_bytes())
        let status = larder_record_get_entry(record, position, &name, &value, nil)
        guard status == .ok else { throw LarderError(status: status) }
        return (name, value)
    }

    private func find(_ field: PreparedField) throws(LarderError) -> larder_bytes? {
        guard case .value(let value)? = try find(field, orType: { _ in false }) else { return nil }
        return value
    }

    /// Finds a field; only the type of a compressed top-level one, if that suffices.
    private func find(_ field: PreparedField, orType typeWillDo: (ValueType) -> Bool)
        throws(LarderError) -> Found?
    {
        var value = larder_bytes()
        var type: Int32 = 0
        var status = field.find(in: record, &value, &type)
        if status == .cold {
            if field.isTopLevel, let known = ValueType(rawValue: type), typeWillDo(known) {
                return .type(known)
            }
            status = field.find(in: try load(), &value, &type)
        }
        return try Self.found(status, value).map { .value($0) }
    }

    /// Finds a field for a single look-up.
    private func find(_ path: FieldPath) throws(LarderError) -> larder_bytes? {
        let found = path.withEncodedBytes { bytes in
            Result { () throws(LarderError) in
                var field = larder_field()
                var value = larder_bytes()
                larder_field_init(&field, bytes)
                var status = larder_record_find(record, &field, &value, nil)
                if status == .cold {
                    status = larder_record_find(try load(), &field, &value, nil)
                }
                return try Self.found(status, value)
            }
        }
        return try found.get()
    }

    private static func found(_ status: Int32, _ value: larder_bytes)
        throws(LarderError) -> larder_bytes?
    {
        switch status {
        case .ok: return value
        case .notFound: return nil
        default: throw LarderError(status: status)
        }
    }
}
