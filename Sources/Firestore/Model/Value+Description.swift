extension Value: CustomStringConvertible {
    /// The value in a short form for logs and tests; not a format to parse.
    public var description: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): value.isNaN ? "nan" : value.description
        case .timestamp(let value): "time(\(value))"
        case .serverTimestamp(let value): "serverTimestamp(\(value.localWriteTime))"
        case .string(let value): "\"\(value)\""
        case .bytes(let value): "bytes(\(value.count))"
        case .reference(let value): "reference(\(value))"
        case .geoPoint(let value): "geo\(value)"
        case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
        case .vector(let value): "vector(\(value))"
        case .map(let value): value.description
        case .max: "max"
        }
    }
}

extension MapValue: CustomStringConvertible {
    /// The entries in braces, in a short form for logs and tests.
    public var description: String {
        "{" + map { "\($0.name): \($0.value)" }.joined(separator: ", ") + "}"
    }
}
