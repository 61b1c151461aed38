import Foundation
package import LarderModel
package import SwiftProtobuf

extension MessageCoder {
    /// Decodes a value, with the limits of document values.
    ///
    /// - Throws: `invalidArgument` for a value without a type, excessive nesting, empty, long or
    ///   duplicate map keys, times and locations out of range, references that do not name a
    ///   document, and malformed vectors.
    package func decode(_ value: Google_Firestore_V1_Value) throws(LarderError) -> Value {
        try builder.reset()
        try append(value, depth: 0)
        return try builder.finishValue()
    }

    /// Decodes values.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Value)``.
    package func decode(_ values: [Google_Firestore_V1_Value]) throws(LarderError) -> [Value] {
        try values.map(decode)
    }

    /// Decodes a document's fields.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Value)``, and for a document above the size
    ///   limit.
    package func decode(_ fields: [Google_Firestore_V1_Document.FieldsEntry])
        throws(LarderError) -> Record
    {
        try builder.reset()
        try builder.beginMap()
        for field in fields {
            try builder.appendName(field.key)
            try append(field.value, depth: 0)
        }
        try builder.endMap()
        let record = try builder.finishRecord()
        let size = record.sizeBytes
        guard size <= limits.maxDocumentBytes else {
            throw LarderError(
                .invalidArgument,
                "a document of \(size) bytes; the limit is \(limits.maxDocumentBytes)",
                condition: .tooLarge)
        }
        return record
    }

    private func append(_ value: Google_Firestore_V1_Value, depth: Int) throws(LarderError) {
        switch value.valueType {
        case nil: throw .invalidArgument("a value has no type")
        case .nullValue: try builder.append(.null)
        case .booleanValue(let boolean): try builder.append(.boolean(boolean))
        case .integerValue(let integer): try builder.append(.integer(integer))
        case .doubleValue(let number): try builder.append(.double(number))
        case .timestampValue(let time):
            try builder.append(.timestamp(try Timestamp(time).truncatedToMicroseconds))
        case .stringValue(let text): try builder.append(.string(text))
        case .bytesValue(let data):
            let result = data.withUnsafeBytes { bytes in
                Result { () throws(LarderError) in try builder.append(bytes: bytes) }
            }
            try result.get()
        case .referenceValue(let name): try append(reference: name)
        case .geoPointValue(let place):
            try builder.append(
                .geoPoint(
                    GeoPoint(validatingLatitude: place.latitude, longitude: place.longitude)))
        case .arrayValue(let array):
            try checkDepth(depth)
            try builder.beginArray()
            for element in array.values { try append(element, depth: depth + 1) }
            try builder.endArray()
        case .mapValue(let map): try append(map, depth: depth)
        }
    }

    private func append(_ map: Google_Firestore_V1_MapValue, depth: Int) throws(LarderError) {
        if let vector = try VectorValue(map) { return try builder.append(.vector(vector)) }
        try checkDepth(depth)
        try builder.beginMap()
        for entry in map.fields {
            try builder.appendName(entry.key)
            try append(entry.value, depth: depth + 1)
        }
        try builder.endMap()
    }

    func append(reference name: String) throws(LarderError) {
        let name = ResourceName(name)
        guard name.isDocumentName else {
            throw .invalidName(
                "the reference '\(name.string.prefix(200))' does not name a document")
        }
        try builder.append(.reference(name))
    }

    func checkDepth(_ depth: Int) throws(LarderError) {
        guard depth < limits.maxDepth else {
            throw LarderError(
                .invalidArgument,
                "maps and arrays are nested deeper than \(limits.maxDepth) levels",
                condition: .tooDeep)
        }
    }
}

extension VectorValue {
    /// The key of the entry that marks a map as another type.
    static let typeName = "__type__"
    static let typeText = "__vector__"
    static let componentsName = "value"

    /// The vector that a map represents; nil for any other map.
    ///
    /// - Throws: `invalidArgument` for a malformed vector.
    init?(_ map: Google_Firestore_V1_MapValue) throws(LarderError) {
        let isVector = map.fields.contains { entry in
            guard entry.key == Self.typeName, case .stringValue(let type)? = entry.value.valueType
            else { return false }
            return type == Self.typeText
        }
        guard isVector else { return nil }
        // The messages here and below are Firestore's.
        guard let list = map.fields.first(where: { $0.key == Self.componentsName }),
            case .arrayValue(let array)? = list.value.valueType
        else { throw .invalidArgument("Vector map is missing key '\(Self.componentsName)'.") }
        guard map.fields.count == 2 else {
            throw .invalidArgument("Vector Value map has extraneous entries.")
        }
        self.init(
            try array.values.map { element throws(LarderError) in
                guard case .doubleValue(let component)? = element.valueType else {
                    throw .invalidArgument("Vector must only contain values of type 'double'")
                }
                return component
            })
    }
}

// MARK: - Times

extension Timestamp {
    /// Decodes an instant to the nanosecond.
    ///
    /// - Throws: `invalidArgument` outside the years 0001 to 9999 or 0...999,999,999 nanoseconds.
    package init(_ message: Google_Protobuf_Timestamp) throws(LarderError) {
        try self.init(validatingSeconds: message.seconds, nanoseconds: message.nanos)
    }
}

extension Google_Protobuf_Timestamp {
    package init(_ time: Timestamp) {
        self.init(seconds: time.seconds, nanos: time.nanoseconds)
    }

    package init(_ version: SnapshotVersion) {
        self.init(version.timestamp)
    }
}

extension SnapshotVersion {
    /// The version; ``LarderModel/SnapshotVersion/none`` for the epoch.
    ///
    /// - Throws: as ``LarderCore/Timestamp/init(_:)``.
    package init(_ message: Google_Protobuf_Timestamp) throws(LarderError) {
        self.init(try Timestamp(message))
    }
}
