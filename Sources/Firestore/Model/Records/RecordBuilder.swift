import CLarder

/// Encodes values into records; reusing a builder for many documents saves allocations.
///
/// Not thread-safe.
public final class RecordBuilder {
    let builder: OpaquePointer
    private static let maxDepth = 128

    /// Creates a builder with empty buffers.
    ///
    /// - Throws: `resourceExhausted` if out of memory.
    public init() throws(LarderError) {
        var created: OpaquePointer?
        var failure = larder_error()
        try throwIfFailed(larder_builder_create(nil, &created, &failure), failure)
        guard let created else { throw LarderError(status: Int32(LARDER_E_NO_MEMORY)) }
        builder = created
    }

    deinit {
        larder_builder_close(builder)
    }

    /// Encodes the fields of a document.
    ///
    /// The store checks its own limits of depth and size when it writes the record. Linear in the
    /// size of the fields.
    ///
    /// - Throws: `invalidArgument` for an empty or too long field name, or arrays and maps
    ///   nested beyond 128 levels.
    public func encode(_ fields: MapValue) throws(LarderError) -> Record {
        larder_builder_reset(builder)
        try append(.map(fields), depth: 0)
        var plain = larder_bytes()
        try call { larder_builder_finish_record(builder, &plain, $0) }
        return Record(storage: try RecordStorage.copying(trusted: plain))
    }

    /// Encodes the fields of a document.
    ///
    /// - Throws: as ``encode(_:)-(MapValue)``.
    public func encode(_ fields: [String: Value]) throws(LarderError) -> Record {
        try encode(MapValue(fields))
    }

    /// Encodes one value.
    ///
    /// - Throws: as ``encode(_:)-(MapValue)``.
    public func encode(_ value: Value) throws(LarderError) -> EncodedValue {
        larder_builder_reset(builder)
        try append(value, depth: 0)
        var encoded = larder_bytes()
        try call { larder_builder_finish_value(builder, &encoded, $0) }
        return EncodedValue(unchecked: encoded.array, value.type)
    }

    /// Sets and deletes fields of a record, or of an empty one for nil; see
    /// ``Record/patched(with:mask:)``.
    package func patch(_ base: Record?, with source: Record, mask: FieldMask)
        throws(LarderError) -> Record
    {
        let paths = mask.paths.map(\.encoded)
        let joined = paths.flatMap { $0 }
        var plain = larder_bytes()
        var failure = larder_error()
        let patch = { (base: UnsafePointer<larder_record>?) throws(LarderError) -> Int32 in
            try source.storage.withLoadedRecord { source in
                joined.withUnsafeBytes { bytes in
                    var start = 0
                    let borrowed = paths.map { path in
                        defer { start += path.count }
                        return larder_bytes(
                            data: bytes.baseAddress.map { $0 + start }, size_bytes: path.count)
                    }
                    return larder_record_patch(
                        base, source, borrowed, borrowed.count, self.builder, &plain, &failure)
                }
            }
        }
        let status: Result<Int32, LarderError> =
            if let base {
                try base.storage.withLoadedRecord { base in
                    Result { () throws(LarderError) in try patch(base) }
                }
            } else {
                .success(try patch(nil))
            }
        try throwIfFailed(try status.get(), failure)
        return Record(storage: try RecordStorage.copying(trusted: plain))
    }

    /// The fields of a record that a mask names; paths through values other than maps name none.
    func select(_ mask: FieldMask, of record: Record) throws(LarderError) -> Record {
        // A patch would create the maps that lead to a missing field.
        let present = mask.paths.filter { !$0.isDocumentID && record[$0] != nil }
        return try patch(nil, with: record, mask: FieldMask(present))
    }

    func append(_ value: Value, depth: Int) throws(LarderError) {
        switch value {
        case .null: try call { larder_builder_null(builder, $0) }
        case .boolean(let value): try call { larder_builder_boolean(builder, value ? 1 : 0, $0) }
        case .integer(let value): try call { larder_builder_integer(builder, value, $0) }
        case .double(let value): try call { larder_builder_double(builder, value, $0) }
        case .timestamp(let value):
            try call { larder_builder_timestamp(builder, larder_time(value), $0) }
        case .serverTimestamp(let value): try append(value)
        case .string(let value):
            try call { failure in
                withBytes(value) { larder_builder_string(builder, $0, failure) }
            }
        case .bytes(let value):
            try call { failure in
                value.withUnsafeBytes { larder_builder_bytes(builder, larder_bytes($0), failure) }
            }
        case .reference(let value):
            try call { failure in
                withBytes(value.string) { larder_builder_reference(builder, $0, failure) }
            }
        case .geoPoint(let value):
            try call { larder_builder_geo_point(builder, value.latitude, value.longitude, $0) }
        case .vector(let value):
            try call { failure in
                value.components.withUnsafeBufferPointer {
                    larder_builder_vector(builder, $0.baseAddress, $0.count, failure)
                }
            }
        case .max: try call { larder_builder_max(builder, $0) }
        case .array(let values): try append(values, depth: depth)
        case .map(let entries): try append(entries, depth: depth)
        }
    }

    private func append(_ pending: PendingServerTimestamp) throws(LarderError) {
        let previous: EncodedValue? =
            if let value = pending.previous { try EncodedValue(value) } else { nil }
        let time = larder_time(pending.localWriteTime)
        try call { failure in
            (previous?.bytes ?? []).withUnsafeBytes {
                larder_builder_server_timestamp(builder, time, larder_bytes($0), failure)
            }
        }
    }

    private func append(_ values: [Value], depth: Int) throws(LarderError) {
        try checkDepth(depth)
        try call { larder_builder_begin_array(builder, $0) }
        for value in values { try append(value, depth: depth + 1) }
        try call { larder_builder_end_array(builder, $0) }
    }

    private func append(_ entries: MapValue, depth: Int) throws(LarderError) {
        try checkDepth(depth)
        try call { larder_builder_begin_map(builder, $0) }
        for (name, value) in entries {
            try call { failure in
                withBytes(name) { larder_builder_name(builder, $0, failure) }
            }
            try append(value, depth: depth + 1)
        }
        try call { larder_builder_end_map(builder, $0) }
    }

    private func checkDepth(_ depth: Int) throws(LarderError) {
        guard depth < Self.maxDepth else { throw LarderError(status: Int32(LARDER_E_TOO_DEEP)) }
    }

    func call(
        _ function: (UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) {
        var failure = larder_error()
        try throwIfFailed(function(&failure), failure)
    }
}

// MARK: - Streaming

/// Incremental encoding of a document, without a ``MapValue``.
///
/// Start with `reset` and a map; after an error, start again.
extension RecordBuilder {
    /// Discards everything appended so far.
    package func reset() {
        larder_builder_reset(builder)
    }

    /// Begins a map; its names and values follow alternately, in any order of names.
    package func beginMap() throws(LarderError) {
        try call { larder_builder_begin_map(builder, $0) }
    }

    /// Ends the innermost map.
    package func endMap() throws(LarderError) {
        try call { larder_builder_end_map(builder, $0) }
    }

    package func beginArray() throws(LarderError) {
        try call { larder_builder_begin_array(builder, $0) }
    }

    /// Ends the innermost array.
    package func endArray() throws(LarderError) {
        try call { larder_builder_end_array(builder, $0) }
    }

    /// Appends the name of the innermost map's next value.
    package func appendName(_ name: String) throws(LarderError) {
        try call { failure in withBytes(name) { larder_builder_name(builder, $0, failure) } }
    }

    /// Appends the name of the innermost map's next value.
    ///
    /// - Throws: `invalidArgument` for invalid UTF-8.
    package func appendName(utf8 name: UnsafeRawBufferPointer) throws(LarderError) {
        try call { larder_builder_name(builder, larder_bytes(name), $0) }
    }

    /// Appends a value to the innermost map or array.
    package func append(_ value: Value) throws(LarderError) {
        try append(value, depth: 0)
    }

    /// Appends bytes to the innermost map or array.
    package func append(bytes: UnsafeRawBufferPointer) throws(LarderError) {
        try call { larder_builder_bytes(builder, larder_bytes(bytes), $0) }
    }

    /// Appends a string to the innermost map or array.
    ///
    /// - Throws: `invalidArgument` for invalid UTF-8.
    package func append(utf8 text: UnsafeRawBufferPointer) throws(LarderError) {
        try call { larder_builder_string(builder, larder_bytes(text), $0) }
    }

    /// The record of the completed top-level map.
    package func finishRecord() throws(LarderError) -> Record {
        var plain = larder_bytes()
        try call { larder_builder_finish_record(builder, &plain, $0) }
        return Record(storage: try RecordStorage.copying(trusted: plain))
    }

    /// The decoded completed value.
    package func finishValue() throws(LarderError) -> Value {
        var encoded = larder_bytes()
        try call { larder_builder_finish_value(builder, &encoded, $0) }
        return try Value(decoding: encoded)
    }
}
