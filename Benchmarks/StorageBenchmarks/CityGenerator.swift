import LarderModel

/// The workload's documents, the same shapes and sizes as those of the C program: twelve fields,
/// about a kilobyte, document `i` independent of how many there are.
struct CityGenerator {
    private var state: UInt64

    private init(_ index: Int) {
        state = 42
        state = next() ^ (UInt64(index) &* 0xd134_2543_de82_ef95)
    }

    /// The path of a document.
    static func path(_ index: Int) throws(LarderError) -> DocumentPath {
        let digits = String(index)
        return try DocumentPath(
            "cities/city" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits)
    }

    /// The fields of a document.
    static func fields(_ index: Int) throws(LarderError) -> MapValue {
        var random = CityGenerator(index)
        return MapValue([
            ("name", .string(random.letters(20))),
            ("state", .string(random.pick(Self.states))),
            ("country", .string(random.pick(["United States", "Canada", "Mexico", "Brazil"]))),
            ("population", .integer(1000 + Int64(random.below(20_000_000)))),
            ("area", .double(1 + random.fraction(5000))),
            (
                "founded",
                .timestamp(
                    Timestamp(
                        seconds: Int64(random.below(1_600_000_000)),
                        nanoseconds: Int32(random.below(1_000_000) * 1000)))
            ),
            ("capital", .boolean(random.below(50) == 0)),
            (
                "location",
                .geoPoint(
                    GeoPoint(
                        latitude: random.fraction(180) - 90, longitude: random.fraction(360) - 180))
            ),
            ("tags", .array((0..<5).map { _ in .string(random.pick(Self.words)) })),
            (
                "stats",
                .map(
                    MapValue(
                        ["density", "elevation", "income", "rainfall"].map {
                            ($0, .double(random.fraction(10_000)))
                        }))
            ),
            ("notes", .string(random.sentence(atLeast: 590 + random.below(21)))),
            (
                "ref",
                .reference(
                    ResourceName(
                        "projects/bench/databases/(default)/documents/regions/region"
                            + String(1000 + random.below(9000))))
            ),
        ])
    }

    /// The state that the queries ask for: 2 % of the documents.
    static let wantedState = "CA"

    private static let states = [
        "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA",
        "KS", "KY", "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ",
        "NM", "NY", "NC", "ND", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT",
        "VA", "WA", "WV", "WI", "WY",
    ]

    private static let words = [
        "the", "city", "of", "and", "with", "its", "old", "town", "river", "bridge", "north",
        "south", "east", "west", "harbor", "market", "square", "people", "street", "park",
        "garden", "church", "tower", "castle", "railway", "station", "airport", "school",
        "college", "museum", "library", "theater", "music", "summer", "winter", "spring",
        "autumn", "weather", "rain", "snow", "sun", "wind", "coast", "beach", "island",
        "mountain", "valley", "forest", "lake", "field", "farm", "village", "suburb", "center",
        "district", "region", "province", "county", "border", "road", "highway", "trade",
        "industry", "steel",
    ]

    private mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    private mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    private mutating func fraction(_ limit: Double) -> Double {
        (Double(next() >> 11) * 0x1p-53 * limit * 100).rounded() / 100
    }

    private mutating func pick(_ choices: [String]) -> String { choices[below(choices.count)] }

    private mutating func letters(_ count: Int) -> String {
        String(decoding: (0..<count).map { _ in UInt8(97 + below(26)) }, as: UTF8.self)
    }

    private mutating func sentence(atLeast size: Int) -> String {
        var text = ""
        while text.utf8.count < size {
            if !text.isEmpty { text += " " }
            text += pick(Self.words)
        }
        return text
    }
}
