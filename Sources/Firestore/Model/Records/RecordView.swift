import CLarder
public import Foundation

/// A record lent to a closure: fields are found, compared and decoded in place.
///
/// It cannot be copied or kept. Comparing builds no value and allocates nothing, but where a
/// field lies in the record's compressed part: that is decompressed once, into memory that a
/// scan reuses.
public struct RecordView: ~Copyable {
    let record: UnsafePointer<larder_record>
    private let loader: Loader

    /// The owner of the compressed part, which decompresses it once.
    private enum Loader {
        case scratch(UnsafeMutablePointer<RecordScratch>)
        case storage(OpaquePointer?)
    }

    /// A view of a `larder_record`, which must outlive the view, as must the scratch.
    package init(_ record: UnsafeRawPointer, scratch: UnsafeMutablePointer<RecordScratch>) {
        self.record = record.assumingMemoryBound(to: larder_record.self)
        loader = .scratch(scratch)
    }

    /// A view of a storage's record, with the storage's handle.
    init(_ record: UnsafePointer<larder_record>, storage handle: OpaquePointer?) {
        self.record = record
        loader = .storage(handle)
    }

    /// The number of fields at the top level.
    public var count: Int { larder_record_count(record) }

    /// The value at a field, decoded; nil when there is none.
    ///
    /// - Throws: `dataLoss` when the compressed part is damaged.
    public func value(at field: PreparedField) throws(LarderError) -> Value? {
        guard let found = try find(field) else { return nil }
        return try Value(decoding: found)
    }

    /// The value at a field path, decoded; nil when there is none.
    ///
    /// For one look-up: a ``PreparedField`` is faster along a scan.
    ///
    /// - Throws: `dataLoss` when the compressed part is damaged.
    public func value(at path: FieldPath) throws(LarderError) -> Value? {
        guard let found = try find(path) else { return nil }
        return try Value(decoding: found)
    }

    /// Lends the value at a field path to a closure; nil, without a call, when there is none.
    ///
    /// For one look-up: a ``PreparedField`` is faster along a scan.
    ///
    /// - Throws: `dataLoss` when the compressed part is damaged.
    package func withValue<R>(
        at path: FieldPath, _ body: (borrowing ValueView) -> R
    ) throws(LarderError) -> R? {
        guard let found = try find(path) else { return nil }
        return body(ValueView(found))
    }

    /// The type of the value at a field; nil when there is none.
    ///
    /// Decompresses nothing for fields at the top level.
    public func type(of field: PreparedField) throws(LarderError) -> ValueType? {
        guard let found = try find(field, orType: { _ in true }) else { return nil }
        switch found {
        case .value(let value): return ValueType(rawValue: larder_value_type(value))
        case .type(let type): return type
        }
    }

    /// Lends the value at a field to a closure; nil, without a call, when there is none.
    @inlinable
    public func withValue<R>(
        at field: PreparedField, _ body: (borrowing ValueView) throws(LarderError) -> R
    ) throws(LarderError) -> R? {
        var result: R?
        try visitValue(at: field) { value throws(LarderError) in result = try body(value) }
        return result
    }

    /// Lends the value at a field to a closure, unless there is none.
    ///
    /// Not generic, so that only its thin callers are compiled again for each use.
    @usableFromInline
    func visitValue(
        at field: PreparedField, _ body: (borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        guard let found = try find(field) else { return }
        try body(ValueView(found))
    }

    /// The order of the value at a field and another value, nil when there is no such field.
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

    /// The order of the value at a field and another value; nil when there is no such field, or
    /// one of another type.
    ///
    /// Integers and doubles are of one type here. A compressed field of another type is not
    /// decompressed.
    public func compareWithinType(_ field: PreparedField, to other: EncodedValue)
        throws(LarderError) -> ComparisonResult?
    {
        // What most candidates of most scans come through: one look-up, no closures.
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

    /// The order of a field in two records; nil where one of them has no such field.
    public func compare(_ field: PreparedField, with other: borrowing RecordView)
        throws(LarderError) -> ComparisonResult?
    {
        guard let left = try find(field), let right = try other.find(field) else { return nil }
        return ComparisonResult(order: larder_value_compare(left, right))
    }

    /// True if the value at a field equals another, by Firestore's equality; false when there is no
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
    /// - Throws: `dataLoss` when the compressed part is damaged.
    public func forEachField(
        _ body: (String, borrowing ValueView) -> IterationStep
    ) throws(LarderError) {
        let whole = try loaded()
        for position in 0..<larder_record_count(whole) {
            let (name, value) = try Self.entry(of: whole, at: position)
            if body(name.text, ValueView(value)) == .stop { return }
        }
    }

    /// Lends every field at the top level to a closure, with the UTF-8 of its name and the last
    /// first.
    ///
    /// - Throws: `dataLoss` when the record is damaged; what the closure throws.
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
    /// - Throws: `dataLoss` when the compressed part is damaged.
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
    /// Copies the bytes as they are stored; the compressed part is decompressed when the copy is
    /// asked for what lies in it.
    ///
    /// - Throws: `dataLoss` when the checksum of the compressed part does not match.
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

    /// The record with its compressed part decompressed.
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

    /// Finds a field; of a compressed one at the top level the type alone where that will do.
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

    /// Finds a field for once.
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
