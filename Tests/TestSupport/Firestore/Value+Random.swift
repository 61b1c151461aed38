public import LarderModel

extension SeededRandom {
    /// A value of any type, often one at an edge, nested at most as deep as the depth says.
    public mutating func value(depth: Int = 3) -> Value {
        switch below(depth > 0 ? 14 : 11) {
        case 0: .null
        case 1: .boolean(oneIn(2))
        case 2, 3: .integer(integer())
        case 4: .double(double())
        case 5: .timestamp(timestamp())
        case 6: .serverTimestamp(pending(depth: depth))
        case 7: .string(text())
        case 8: .bytes((0..<below(6)).map { _ in pick([0, 1, 127, 128, 255] as [UInt8]) })
        case 9: .reference(ResourceName("projects/p/databases/d/documents/\(name())/\(name())"))
        case 10: oneIn(2) ? .geoPoint(geoPoint()) : .vector(VectorValue(numbers()))
        case 11: .array((0..<below(4)).map { _ in value(depth: depth - 1) })
        default: .map(map(depth: depth - 1))
        }
    }

    /// Up to five fields with short names, some of which are alike.
    public mutating func map(depth: Int = 3) -> MapValue {
        var map = MapValue()
        for _ in 0..<below(6) { map[name()] = value(depth: depth) }
        return map
    }

    private static let integerEdges: [Int64] = [
        .min, .min + 1, -9_007_199_254_740_993, 9_007_199_254_740_992, 9_007_199_254_740_993,
        .max - 1, .max,
    ]

    private static let doubleEdges: [Double] = [
        .nan, -.infinity, -0x1p63, -0.0, 0.0, .leastNonzeroMagnitude, 0x1p53, 0x1p63, .infinity,
    ]

    /// An integer, often one where encodings and conversions change.
    public mutating func integer() -> Int64 {
        switch below(4) {
        case 0: Int64(below(5)) - 2
        case 1: pick(Self.integerEdges)
        case 2: Int64(1) << Int64(below(63))
        default: Int64(bitPattern: next())
        }
    }

    /// A double, often one at an edge.
    public mutating func double() -> Double {
        switch below(4) {
        case 0: Double(below(5)) - 2
        case 1: pick(Self.doubleEdges)
        case 2: Double(integer())
        default: Double(bitPattern: next())
        }
    }

    /// An instant in range, often one at an edge.
    public mutating func timestamp() -> Timestamp {
        let range = Timestamp.validSeconds
        let edges: [Int64] = [range.lowerBound, -1, 0, 1, range.upperBound]
        let nanoseconds: [Int32] = [0, 1, 999, 1000, 999_999_999]
        let seconds = oneIn(3) ? pick(edges) : Int64.random(in: range, using: &self)
        return Timestamp(seconds: seconds, nanoseconds: pick(nanoseconds))
    }

    /// A place in range, often one at an edge.
    public mutating func geoPoint() -> GeoPoint {
        let latitudes: [Double] = [-90, -0.0, 0, 37.7749, 90]
        let longitudes: [Double] = [-180, -0.0, 0, -122.4194, 180]
        return GeoPoint(latitude: pick(latitudes), longitude: pick(longitudes))
    }

    /// A short field name, also one with characters that need quoting.
    public mutating func name() -> String {
        pick(["a", "b", "c", "é", "e\u{301}", "a.b", "\u{ffff}", "\u{10000}", "z`\\", "名前"])
    }

    /// Text of no to twelve characters.
    public mutating func text() -> String {
        (0..<below(4)).map { _ in name() }.joined()
    }

    private mutating func numbers() -> [Double] {
        (0..<below(4)).map { _ in double() }
    }

    private mutating func pending(depth: Int) -> PendingServerTimestamp {
        PendingServerTimestamp(
            localWriteTime: timestamp(), previous: oneIn(2) ? value(depth: 0) : nil)
    }
}
