import Foundation
package import LarderModel
package import SwiftProtobuf

extension MessageCoder {
    /// The value of a message, bounded as values of documents are.
    ///
    /// - Throws: `invalidArgument` for a value without a type, nesting beyond the limit, empty,
    ///   long or double names of a map, times and places out of range, references that name no
    ///   document, and a map that says it is a vector and has not just its components.
    package func decode(_ value: Google_Firestore_V1_Value) throws(LarderError) -> Value {
        try builder.reset()
        try append(value, depth: 0)
        return try builder.finishValue()
    }

    /// The values of messages, in order.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Value)``.
    package func decode(_ values: [Google_Firestore_V1_Value]) throws(LarderError) -> [Value] {
        var decoded: [Value] = []
        decoded.reserveCapacity(values.count)
        for value in values { decoded.append(try decode(value)) }
        return decoded
    }

    /// The record of a document's fields.
    ///
    /// - Throws: as ``decode(_:)-(Google_Firestore_V1_Value)``, and for fields beyond the size
    ///   limit of a document.
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
                "a document has \(size) bytes; \(limits.maxDocumentBytes) are allowed",
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
            throw .invalidName("the reference '\(name.string.prefix(200))' names no document")
        }
        try builder.append(.reference(name))
    }

    func checkDepth(_ depth: Int) throws(LarderError) {
        guard depth < limits.maxDepth else {
            throw LarderError(
                .invalidArgument, "maps and arrays are nested beyond \(limits.maxDepth) levels",
                condition: .tooDeep)
        }
    }
}

extension VectorValue {
    /// The name of the entry that says what a map stands for.
    static let typeName = "__type__"
    /// What it says of a vector.
    static let typeText = "__vector__"
    /// The name of the entry with the components.
    static let componentsName = "value"

    /// The vector that a map stands for; nil for any other map.
    ///
    /// - Throws: `invalidArgument` for a map that says it is a vector and is none.
    init?(_ map: Google_Firestore_V1_MapValue) throws(LarderError) {
        let isVector = map.fields.contains { entry in
            guard entry.key == Self.typeName, case .stringValue(let type)? = entry.value.valueType
            else { return false }
            return type == Self.typeText
        }
        guard isVector else { return nil }
        guard map.fields.count == 2,
            let list = map.fields.first(where: { $0.key == Self.componentsName }),
            case .arrayValue(let array)? = list.value.valueType
        else { throw .invalidArgument("a vector has not just a list of components") }
        var components: [Double] = []
        components.reserveCapacity(array.values.count)
        for element in array.values {
            guard case .doubleValue(let component)? = element.valueType else {
                throw .invalidArgument("a vector has a component that is no double")
            }
            components.append(component)
        }
        self.init(components)
    }
}

// MARK: - Times

extension Timestamp {
    /// The instant of a message, to the nanosecond.
    ///
    /// - Throws: `invalidArgument` outside the years 0001 to 9999 or 0...999,999,999 nanoseconds.
    package init(_ message: Google_Protobuf_Timestamp) throws(LarderError) {
        try self.init(validatingSeconds: message.seconds, nanoseconds: message.nanos)
    }
}

extension Google_Protobuf_Timestamp {
    /// The message of an instant.
    package init(_ time: Timestamp) {
        self.init(seconds: time.seconds, nanos: time.nanoseconds)
    }

    /// The message of a version.
    package init(_ version: SnapshotVersion) {
        self.init(version.timestamp)
    }
}

extension SnapshotVersion {
    /// The version of a message; ``LarderModel/SnapshotVersion/none`` for the epoch, too.
    ///
    /// - Throws: as ``LarderCore/Timestamp/init(_:)``.
    package init(_ message: Google_Protobuf_Timestamp) throws(LarderError) {
        self.init(try Timestamp(message))
    }
}
