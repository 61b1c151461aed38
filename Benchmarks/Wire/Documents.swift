import LarderWire

/// The documents that are written: the same for the same numbers.
extension Requests {
    private typealias Kind = Google_Firestore_V1_Value.OneOf_ValueType

    private static let words = [
        "harbour", "river", "market", "old", "bridge", "hill", "of", "the", "north",
    ]

    /// A document of some 1,000 bytes, or of 150.
    static func document(
        _ collection: String, _ number: Int, isLarge: Bool = false, revision: Int = 0
    ) -> Google_Firestore_V1_Document {
        var fields: [(String, Kind)] = [
            ("name", .stringValue("City number \(number)")),
            ("group", .integerValue(Int64(number / groupCount))),
            ("revision", .integerValue(Int64(revision))),
            ("area", .doubleValue(Double(number) * 1.25)),
            ("capital", .booleanValue(number % 50 == 0)),
            ("state", .stringValue("S\(number % 50)")),
        ]
        if isLarge { fields += details(number) }
        var document = Google_Firestore_V1_Document()
        document.name = name(collection, number)
        document.fields = fields.map { name, kind in
            var entry = Google_Firestore_V1_Document.FieldsEntry()
            entry.key = name
            entry.value.valueType = kind
            return entry
        }
        return document
    }

    /// What makes a document one of 1,000 bytes.
    private static func details(_ number: Int) -> [(String, Kind)] {
        var notes = ""
        var word = number
        while notes.utf8.count < 600 {
            word = (word &* 31 &+ 7) % 1_009
            notes += words[word % words.count] + " "
        }
        var tags = Google_Firestore_V1_ArrayValue()
        for tag in 0..<5 {
            var value = Google_Firestore_V1_Value()
            value.stringValue = "tag \(number % 7) \(tag)"
            tags.values.append(value)
        }
        var stats = Google_Firestore_V1_MapValue()
        for (name, kind) in [
            ("rain", Kind.doubleValue(Double(number % 97) * 0.5)),
            ("snow", Kind.integerValue(Int64(number % 13))),
            ("sun", Kind.integerValue(Int64(number % 365))),
            ("wind", Kind.doubleValue(Double(number % 31) * 0.25)),
        ] {
            var entry = Google_Firestore_V1_MapValue.FieldsEntry()
            entry.key = name
            entry.value.valueType = kind
            stats.fields.append(entry)
        }
        var location = Google_Type_LatLng()
        location.latitude = Double(number % 180) - 90
        location.longitude = Double(number % 360) - 180
        return [
            ("notes", .stringValue(notes)), ("tags", .arrayValue(tags)),
            ("stats", .mapValue(stats)), ("location", .geoPointValue(location)),
        ]
    }
}
