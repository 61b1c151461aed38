extension Value: Hashable {
    /// Firestore's equality: types must be the same, so that 1 and 1.0 differ; NaN equals NaN,
    /// 0.0 and -0.0 differ; the same inside arrays and maps.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null), (.max, .max): true
        case (.boolean(let l), .boolean(let r)): l == r
        case (.integer(let l), .integer(let r)): l == r
        case (.double(let l), .double(let r)): l.isFirestoreEqual(to: r)
        case (.timestamp(let l), .timestamp(let r)): l == r
        case (.serverTimestamp(let l), .serverTimestamp(let r)): l == r
        case (.string(let l), .string(let r)): l.hasSameUTF8(as: r)
        case (.bytes(let l), .bytes(let r)): l == r
        case (.reference(let l), .reference(let r)): l == r
        case (.geoPoint(let l), .geoPoint(let r)): l == r
        case (.array(let l), .array(let r)): l == r
        case (.vector(let l), .vector(let r)): l == r
        case (.map(let l), .map(let r)): l == r
        default: false
        }
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        switch self {
        case .null, .max: break
        case .boolean(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.firestoreBits)
        case .timestamp(let value): hasher.combine(value)
        case .serverTimestamp(let value): hasher.combine(value)
        case .string(let value): value.hashUTF8(into: &hasher)
        case .bytes(let value): hasher.combine(value)
        case .reference(let value): hasher.combine(value)
        case .geoPoint(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .vector(let value): hasher.combine(value)
        case .map(let value): hasher.combine(value)
        }
    }
}
