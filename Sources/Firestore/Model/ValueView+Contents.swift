import CLarder

extension ValueView {
    /// The geo point; nil for another type.
    public var geoPoint: GeoPoint? {
        var (latitude, longitude) = (0.0, 0.0)
        guard larder_value_get_geo_point(bytes, &latitude, &longitude) == .ok else { return nil }
        return GeoPoint(unchecked: latitude, longitude)
    }

    /// The components of a vector; nil for another type.
    public var vector: VectorValue? {
        guard type == .vector, let count else { return nil }
        let components = [Double](unsafeUninitializedCapacity: count) { buffer, initialized in
            for position in 0..<count {
                var component = 0.0
                guard larder_value_get_component(bytes, position, &component) == .ok else { return }
                buffer.initializeElement(at: position, to: component)
                initialized = position + 1
            }
        }
        return components.count == count ? VectorValue(components) : nil
    }

    /// A copy of the text of a string or reference; nil for types without content.
    public var text: String? {
        var content = larder_bytes()
        guard larder_value_get_bytes(bytes, &content) == .ok else { return nil }
        return content.text
    }

    /// When the write of a pending server timestamp was made; nil for another type.
    public var localWriteTime: Timestamp? {
        var (time, previous) = (larder_time(), larder_bytes())
        guard larder_value_get_server_timestamp(bytes, &time, &previous) == .ok else { return nil }
        return time.timestamp
    }

    /// Lends what a pending server timestamp replaces to a closure; nil, without a call, when
    /// it replaces nothing.
    public func withPreviousValue<R>(_ body: (borrowing ValueView) -> R) -> R? {
        var (time, previous) = (larder_time(), larder_bytes())
        guard larder_value_get_server_timestamp(bytes, &time, &previous) == .ok,
            previous.size_bytes > 0
        else { return nil }
        return body(ValueView(previous))
    }

    /// Lends every entry of a map to a closure, in UTF-8 order of names; does nothing for other
    /// types.
    public func forEachEntry(_ body: (String, borrowing ValueView) -> IterationStep) {
        guard type == .map, let count else { return }
        for position in 0..<count {
            var (name, value) = (larder_bytes(), larder_bytes())
            guard larder_value_get_entry(bytes, position, &name, &value) == .ok else { return }
            if body(name.text, ValueView(value)) == .stop { return }
        }
    }

    /// Lends every element of an array to a closure, the last first; does nothing for other types.
    ///
    /// - Throws: `dataLoss` for damaged bytes; what the closure throws.
    package func forEachElementFromLast(
        _ body: (borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        guard type == .array, let count else { return }
        for position in (0..<count).reversed() {
            var element = larder_bytes()
            let status = larder_value_get_element(bytes, position, &element)
            guard status == .ok else { throw LarderError(status: status) }
            try body(ValueView(element))
        }
    }

    /// Lends every entry of a map to a closure, with the UTF-8 of its name and the last first; does
    /// nothing for other types.
    ///
    /// - Throws: `dataLoss` for damaged bytes; what the closure throws.
    package func forEachEntryFromLast(
        _ body: (UnsafeRawBufferPointer, borrowing ValueView) throws(LarderError) -> Void
    ) throws(LarderError) {
        guard type == .map, let count else { return }
        for position in (0..<count).reversed() {
            var (name, value) = (larder_bytes(), larder_bytes())
            let status = larder_value_get_entry(bytes, position, &name, &value)
            guard status == .ok else { throw LarderError(status: status) }
            try body(name.buffer, ValueView(value))
        }
    }
}
