import CLarder

/// Above the depth of any storable value: 128 levels and a previous value.
private let maxDepth = 130

extension Value {
    /// Decodes an encoded value completely.
    ///
    /// - Throws: `invalidArgument` for malformed bytes and for excessive nesting.
    init(decoding bytes: larder_bytes, depth: Int = 0) throws(LarderError) {
        guard depth <= maxDepth else { throw Self.malformed }
        let code = larder_value_type(bytes)
        guard let type = ValueType(rawValue: code) else { throw Self.malformed }
        switch type {
        case .null:
            self = .null
        case .boolean:
            var boolean: Int32 = 0
            try Self.check(larder_value_get_boolean(bytes, &boolean))
            self = .boolean(boolean != 0)
        case .integer:
            var integer: Int64 = 0
            try Self.check(larder_value_get_integer(bytes, &integer))
            self = .integer(integer)
        case .double:
            var number = 0.0
            try Self.check(larder_value_get_double(bytes, &number))
            self = .double(number)
        case .timestamp:
            var time = larder_time()
            try Self.check(larder_value_get_timestamp(bytes, &time))
            self = .timestamp(time.timestamp)
        case .serverTimestamp:
            self = .serverTimestamp(try Self.pendingTimestamp(bytes, depth))
        case .string:
            self = .string(try Self.content(bytes).text)
        case .bytes:
            self = .bytes(try Self.content(bytes).array)
        case .reference:
            self = .reference(ResourceName(try Self.content(bytes).text))
        case .geoPoint:
            var (latitude, longitude) = (0.0, 0.0)
            try Self.check(larder_value_get_geo_point(bytes, &latitude, &longitude))
            self = .geoPoint(GeoPoint(unchecked: latitude, longitude))
        case .array:
            self = .array(try Self.elements(bytes, depth))
        case .vector:
            self = .vector(VectorValue(try Self.components(bytes)))
        case .map:
            self = .map(try Self.entries(bytes, depth))
        case .max:
            self = .max
        }
    }

    static var malformed: LarderError {
        LarderError(status: Int32(LARDER_E_INVALID_RECORD))
    }

    private static func check(_ status: Int32) throws(LarderError) {
        guard status == .ok else { throw LarderError(status: status) }
    }

    private static func content(_ value: larder_bytes) throws(LarderError) -> larder_bytes {
        var content = larder_bytes()
        try check(larder_value_get_bytes(value, &content))
        return content
    }

    private static func count(_ value: larder_bytes) throws(LarderError) -> Int {
        var count = 0
        try check(larder_value_count(value, &count))
        return count
    }

    private static func pendingTimestamp(_ value: larder_bytes, _ depth: Int)
        throws(LarderError) -> PendingServerTimestamp
    {
        var time = larder_time()
        var previous = larder_bytes()
        try check(larder_value_get_server_timestamp(value, &time, &previous))
        return PendingServerTimestamp(
            localWriteTime: time.timestamp,
            previous: previous.size_bytes == 0
                ? nil : try Value(decoding: previous, depth: depth + 1))
    }

    private static func elements(_ array: larder_bytes, _ depth: Int) throws(LarderError) -> [Value]
    {
        let count = try count(array)
        var values: [Value] = []
        values.reserveCapacity(count)
        for position in 0..<count {
            var element = larder_bytes()
            try check(larder_value_get_element(array, position, &element))
            values.append(try Value(decoding: element, depth: depth + 1))
        }
        return values
    }

    private static func components(_ vector: larder_bytes) throws(LarderError) -> [Double] {
        let count = try count(vector)
        var components: [Double] = []
        components.reserveCapacity(count)
        for position in 0..<count {
            var component = 0.0
            try check(larder_value_get_component(vector, position, &component))
            components.append(component)
        }
        return components
    }

    private static func entries(_ map: larder_bytes, _ depth: Int) throws(LarderError) -> MapValue {
        let count = try count(map)
        var entries: [MapValue.Element] = []
        entries.reserveCapacity(count)
        for position in 0..<count {
            var (name, value) = (larder_bytes(), larder_bytes())
            try check(larder_value_get_entry(map, position, &name, &value))
            entries.append((name.text, try Value(decoding: value, depth: depth + 1)))
        }
        return MapValue(ordered: entries)
    }
}
