package import LarderModel

extension Query {
    /// The approximate size in memory.
    package var heldBytes: Int {
        let values = [start, end].compactMap(\.self).flatMap(\.values)
        return Self.baseBytes + filters.reduce(0) { $0 + $1.heldBytes }
            + explicitOrders.reduce(0) { $0 + $1.path.heldBytes }
            + values.reduce(0) { $0 + $1.heldBytes }
    }

    /// The size of a query without filters, orders and bounds, with a path of usual length.
    private static let baseBytes = 256
}

extension Filter {
    fileprivate var heldBytes: Int {
        switch self {
        case .field(let filter): filter.path.heldBytes + filter.value.heldBytes
        case .and(let filters), .or(let filters): filters.reduce(0) { $0 + $1.heldBytes }
        }
    }
}

extension FieldPath {
    /// The approximate size in memory.
    fileprivate var heldBytes: Int {
        segments.reduce(Value.baseBytes) { $0 + Value.baseBytes + $1.utf8.count }
    }
}

extension Value {
    /// The size of a value in memory, or of a text, without its contents.
    fileprivate static let baseBytes = 32

    /// The approximate size in memory.
    package var heldBytes: Int {
        switch self {
        case .string(let text): Self.baseBytes + text.utf8.count
        case .bytes(let bytes): Self.baseBytes + bytes.count
        case .reference(let name): Self.baseBytes + name.string.utf8.count
        case .vector(let vector):
            Self.baseBytes + vector.components.count * MemoryLayout<Double>.size
        case .array(let values): values.reduce(Self.baseBytes) { $0 + $1.heldBytes }
        case .map(let entries):
            entries.reduce(Self.baseBytes) {
                $0 + Self.baseBytes + $1.name.utf8.count + $1.value.heldBytes
            }
        case .null, .boolean, .integer, .double, .timestamp, .serverTimestamp, .geoPoint, .max:
            Self.baseBytes
        }
    }
}
