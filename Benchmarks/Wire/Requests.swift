import Foundation
import LarderModel
import LarderWire
import SwiftProtobuf

/// The requests as encoded messages.
enum Requests {
    static let project = "wire"
    static let database = "projects/\(project)/databases/(default)"
    static let parent = "\(database)/documents"
    /// The number of documents of a collection with the same group.
    static let groupCount = 20

    static func name(_ collection: String, _ number: Int) -> String {
        let digits = String(number)
        return "\(parent)/\(collection)/city"
            + String(repeating: "0", count: 6 - min(6, digits.count)) + digits
    }

    static func commit(_ documents: [Google_Firestore_V1_Document]) throws -> [UInt8] {
        try Google_Firestore_V1_CommitRequest.with {
            $0.database = database
            $0.writes = documents.map { document in .with { $0.update = document } }
        }.serializedBytes()
    }

    /// Rolls back a transaction that does not exist.
    static func rollBackNothing() throws -> [UInt8] {
        var message = Google_Firestore_V1_RollbackRequest()
        message.database = database
        message.transaction = Data(repeating: 0xff, count: 8)
        return try message.serializedBytes()
    }

    /// Reads a document.
    static func get(_ collection: String, _ number: Int) throws -> [UInt8] {
        try Google_Firestore_V1_BatchGetDocumentsRequest.with {
            $0.database = database
            $0.documents = [name(collection, number)]
        }.serializedBytes()
    }

    /// All documents of a collection, or those of a group.
    static func query(_ collection: String, group: Int? = nil)
        -> Google_Firestore_V1_StructuredQuery
    {
        .with {
            $0.from = [.with { $0.collectionID = collection }]
            guard let group else { return }
            $0.where.fieldFilter = .with {
                $0.field.fieldPath = "group"
                $0.op = .equal
                $0.value.integerValue = Int64(group)
            }
        }
    }

    static func run(_ query: Google_Firestore_V1_StructuredQuery) throws -> [UInt8] {
        try Google_Firestore_V1_RunQueryRequest.with {
            $0.parent = parent
            $0.structuredQuery = query
        }.serializedBytes()
    }

    static func listen(_ query: Google_Firestore_V1_StructuredQuery) throws -> [UInt8] {
        try Google_Firestore_V1_ListenRequest.with {
            $0.database = database
            $0.addTarget = .with {
                $0.targetID = 2
                $0.query.parent = parent
                $0.query.structuredQuery = query
            }
        }.serializedBytes()
    }
}

/// The relevant part of a Listen response.
enum Told {
    static func isDocument(_ message: ArraySlice<UInt8>) -> Bool { message.first == 0x1a }

    static func isCurrent(_ message: ArraySlice<UInt8>) throws -> Bool {
        guard message.first == 0x12 else { return false }
        let response = try Google_Firestore_V1_ListenResponse(serializedBytes: Array(message))
        return response.targetChange.targetChangeType == .current
    }
}

/// The written documents, determined by their numbers.
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

    /// Fields that extend a document to 1,000 bytes.
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
