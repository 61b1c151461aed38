import Foundation
package import LarderModel
import SwiftProtobuf

extension MessageCoder {
    /// Encodes a value.
    ///
    /// - Throws: `invalidArgument` for values that exist only locally: pending server timestamps
    ///   and the maximum.
    package func encode(_ value: Value) throws(LarderError) -> Google_Firestore_V1_Value {
        try builder.encode(value).withView { view in
            Result { () throws(LarderError) in try Google_Firestore_V1_Value(view) }
        }.get()
    }

    /// Encodes values.
    ///
    /// - Throws: as ``encode(_:)-(Value)``.
    package func encode(_ values: [Value]) throws(LarderError) -> [Google_Firestore_V1_Value] {
        try values.map(encode)
    }

    /// Encodes the fields of a record, or those of a mask, in UTF-8 order of their names.
    ///
    /// - Throws: as ``encode(_:)-(Value)``; `dataLoss` for a damaged record.
    package func encode(_ record: Record, mask: FieldMask? = nil)
        throws(LarderError) -> [Google_Firestore_V1_Document.FieldsEntry]
    {
        if let mask { return try encode(record, mask) }
        return try record.withView { view throws(LarderError) in
            var entries: [Google_Firestore_V1_Document.FieldsEntry] = []
            entries.reserveCapacity(view.count)
            var failure: LarderError?
            try view.forEachField { name, value in
                do throws(LarderError) {
                    var entry = Google_Firestore_V1_Document.FieldsEntry()
                    entry.key = name
                    entry.value = try Google_Firestore_V1_Value(value)
                    entries.append(entry)
                    return .continue
                } catch {
                    failure = error
                    return .stop
                }
            }
            if let failure { throw failure }
            return entries
        }
    }

    /// Encodes the fields that a mask names; paths through values other than maps name none.
    private func encode(_ record: Record, _ mask: FieldMask)
        throws(LarderError) -> [Google_Firestore_V1_Document.FieldsEntry]
    {
        try record.withView { view throws(LarderError) in
            var entries: [Google_Firestore_V1_MapValue.FieldsEntry] = []
            var covering: FieldPath?
            // In order, a path directly precedes the paths that it covers.
            for path in mask.paths where !path.isDocumentID {
                if let covering, covering.isPrefix(of: path) { continue }
                covering = path
                let found = try view.withValue(at: path) { value in
                    Result { () throws(LarderError) in try Google_Firestore_V1_Value(value) }
                }
                if let found { entries.set(try found.get(), at: path.segments[...]) }
            }
            return entries.map { entry in
                var field = Google_Firestore_V1_Document.FieldsEntry()
                field.key = entry.key
                field.value = entry.value
                return field
            }
        }
    }
}

extension [Google_Firestore_V1_MapValue.FieldsEntry] {
    /// Sets a value at a path greater than all earlier ones.
    fileprivate mutating func set(
        _ value: Google_Firestore_V1_Value, at names: ArraySlice<String>
    ) {
        guard let name = names.first else { return }
        let isThere = last.map { $0.key.utf8.elementsEqual(name.utf8) } ?? false
        if !isThere {
            append(Google_Firestore_V1_MapValue.FieldsEntry())
            self[count - 1].key = name
        }
        if names.count == 1 {
            self[count - 1].value = value
        } else {
            self[count - 1].value.mapValue.fields.set(value, at: names.dropFirst())
        }
    }
}

extension Google_Firestore_V1_Value {
    init(_ view: borrowing ValueView) throws(LarderError) {
        self.init()
        switch view.type {
        case .null: valueType = .nullValue(.nullValue)
        case .boolean: valueType = view.boolean.map { .booleanValue($0) }
        case .integer: valueType = view.integer.map { .integerValue($0) }
        case .double: valueType = view.double.map { .doubleValue($0) }
        case .timestamp: valueType = view.timestamp.map { .timestampValue(.init($0)) }
        case .string: valueType = view.text.map { .stringValue($0) }
        case .bytes: valueType = view.withUnsafeContent { .bytesValue(Data($0)) }
        case .reference: valueType = view.text.map { .referenceValue($0) }
        case .geoPoint:
            valueType = view.geoPoint.map { place in
                var message = Google_Type_LatLng()
                message.latitude = place.latitude
                message.longitude = place.longitude
                return .geoPointValue(message)
            }
        case .array: valueType = .arrayValue(try Google_Firestore_V1_ArrayValue(view))
        case .vector: valueType = view.vector.map { .mapValue(.init($0)) }
        case .map: valueType = .mapValue(try Google_Firestore_V1_MapValue(view))
        case .serverTimestamp:
            throw .invalidArgument("a pending server timestamp cannot be sent")
        case .max: throw .invalidArgument("the maximum value cannot be sent")
        case nil: break
        }
        guard valueType != nil else { throw .damagedValue }
    }
}

extension LarderError {
    /// The error for a value whose content does not match its type.
    static var damagedValue: LarderError {
        LarderError(.dataLoss, "a record has a damaged value", condition: .corrupt)
    }
}

extension Google_Firestore_V1_ArrayValue {
    fileprivate init(_ view: borrowing ValueView) throws(LarderError) {
        self.init()
        var elements: [Google_Firestore_V1_Value] = []
        elements.reserveCapacity(view.count ?? 0)
        var failure: LarderError?
        view.forEachElement { element in
            do throws(LarderError) {
                elements.append(try Google_Firestore_V1_Value(element))
                return .continue
            } catch {
                failure = error
                return .stop
            }
        }
        if let failure { throw failure }
        values = elements
    }
}

extension Google_Firestore_V1_MapValue {
    fileprivate init(_ view: borrowing ValueView) throws(LarderError) {
        self.init()
        var entries: [FieldsEntry] = []
        entries.reserveCapacity(view.count ?? 0)
        var failure: LarderError?
        view.forEachEntry { name, value in
            do throws(LarderError) {
                var entry = FieldsEntry()
                entry.key = name
                entry.value = try Google_Firestore_V1_Value(value)
                entries.append(entry)
                return .continue
            } catch {
                failure = error
                return .stop
            }
        }
        if let failure { throw failure }
        fields = entries
    }

    fileprivate init(_ vector: VectorValue) {
        self.init()
        var type = FieldsEntry()
        type.key = VectorValue.typeName
        type.value.stringValue = VectorValue.typeText
        var components = FieldsEntry()
        components.key = VectorValue.componentsName
        components.value.arrayValue.values = vector.components.map { component in
            var value = Google_Firestore_V1_Value()
            value.doubleValue = component
            return value
        }
        fields = [type, components]
    }
}
