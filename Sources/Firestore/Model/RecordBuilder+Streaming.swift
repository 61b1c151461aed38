import CLarder

/// Building a document piece by piece, without a ``MapValue`` of it.
///
/// Begin with `reset` and a map; after an error begin again.
extension RecordBuilder {
    /// Forgets what was begun.
    package func reset() {
        larder_builder_reset(builder)
    }

    /// Begins a map: names and values follow in turn, names in any order.
    package func beginMap() throws(LarderError) {
        try call { larder_builder_begin_map(builder, $0) }
    }

    /// Ends the map begun last.
    package func endMap() throws(LarderError) {
        try call { larder_builder_end_map(builder, $0) }
    }

    /// Begins an array: its elements follow.
    package func beginArray() throws(LarderError) {
        try call { larder_builder_begin_array(builder, $0) }
    }

    /// Ends the array begun last.
    package func endArray() throws(LarderError) {
        try call { larder_builder_end_array(builder, $0) }
    }

    /// Names the next value of the map begun last.
    package func appendName(_ name: String) throws(LarderError) {
        try call { failure in withBytes(name) { larder_builder_name(builder, $0, failure) } }
    }

    /// Names the next value of the map begun last.
    ///
    /// - Throws: `invalidArgument` for bytes that are no UTF-8.
    package func appendName(utf8 name: UnsafeRawBufferPointer) throws(LarderError) {
        try call { larder_builder_name(builder, larder_bytes(name), $0) }
    }

    /// Adds a value to what was begun last.
    package func append(_ value: Value) throws(LarderError) {
        try append(value, depth: 0)
    }

    /// Adds bytes to what was begun last.
    package func append(bytes: UnsafeRawBufferPointer) throws(LarderError) {
        try call { larder_builder_bytes(builder, larder_bytes(bytes), $0) }
    }

    /// Adds a text to what was begun last.
    ///
    /// - Throws: `invalidArgument` for bytes that are no UTF-8.
    package func append(utf8 text: UnsafeRawBufferPointer) throws(LarderError) {
        try call { larder_builder_string(builder, larder_bytes(text), $0) }
    }

    /// The document whose map was ended.
    package func finishRecord() throws(LarderError) -> Record {
        var plain = larder_bytes()
        try call { larder_builder_finish_record(builder, &plain, $0) }
        return Record(storage: try RecordStorage.copying(trusted: plain))
    }

    /// The value that was added alone, or the array or map that was ended, decoded.
    package func finishValue() throws(LarderError) -> Value {
        var encoded = larder_bytes()
        try call { larder_builder_finish_value(builder, &encoded, $0) }
        return try Value(decoding: encoded)
    }
}
