package import LarderModel

/// Fields as models read and change them, without the code that is tried.
extension MapValue {
    /// The value at a path; nil when there is none.
    package func value(at path: FieldPath) -> Value? {
        var value = Value.map(self)
        for name in path.segments {
            guard case .map(let map) = value, let inner = map[name] else { return nil }
            value = inner
        }
        return value
    }

    /// 1.9: sets a value, for which maps on the way are made, or deletes it for nil.
    package mutating func put(_ value: Value?, at path: FieldPath) {
        self = Self.putting(value, path.segments[...], into: self)
    }

    private static func putting(
        _ value: Value?, _ names: ArraySlice<String>, into map: MapValue
    ) -> MapValue {
        var map = map
        guard let name = names.first else { return map }
        if names.count == 1 {
            map[name] = value
        } else {
            var inner = MapValue()
            if case .map(let present)? = map[name] {
                inner = present
            } else if value == nil {
                return map
            }
            map[name] = .map(putting(value, names.dropFirst(), into: inner))
        }
        return map
    }
}
