import Foundation
import SwiftProtobuf

/// Documents and what they consist of, as ``MessageCoder`` makes them: without unknown fields.
extension BackwardWriter {
    /// A document, as a field of an answer.
    mutating func write(_ document: Google_Firestore_V1_Document, field: UInt64) {
        write(field: field) { $0.write(document) }
    }

    /// The fields of a document's message.
    mutating func write(_ document: Google_Firestore_V1_Document) {
        if document.hasUpdateTime { write(document.updateTime, field: 4) }
        if document.hasCreateTime { write(document.createTime, field: 3) }
        for entry in document.fields.reversed() {
            write(field: 2) { writer in
                if entry.hasValue { writer.write(entry.value, field: 2) }
                writer.write(entry.key, field: 1)
            }
        }
        write(document.name, field: 1)
    }

    /// A time.
    mutating func write(_ time: Google_Protobuf_Timestamp, field: UInt64) {
        write(field: field) { writer in
            if time.nanos != 0 { writer.write(UInt64(bitPattern: Int64(time.nanos)), field: 2) }
            if time.seconds != 0 { writer.write(UInt64(bitPattern: time.seconds), field: 1) }
        }
    }

    /// Numbers of targets; none for no numbers.
    mutating func write(_ targetIDs: [Int32], field: UInt64) {
        guard !targetIDs.isEmpty else { return }
        write(field: field) { writer in
            for id in targetIDs.reversed() { writer.writeNumber(UInt64(bitPattern: Int64(id))) }
        }
    }

    private mutating func write(_ value: Google_Firestore_V1_Value, field: UInt64) {
        write(field: field) { $0.write(value) }
    }

    private mutating func write(_ value: Google_Firestore_V1_Value) {
        switch value.valueType {
        case .booleanValue(let value): write(UInt64(value ? 1 : 0), field: 1)
        case .integerValue(let value): write(UInt64(bitPattern: value), field: 2)
        case .doubleValue(let value): write(value, field: 3)
        case .referenceValue(let value): writeAlways(value, field: 5)
        case .mapValue(let value): write(field: 6) { $0.write(value) }
        case .geoPointValue(let value):
            write(field: 8) { writer in
                if value.longitude.bitPattern != 0 { writer.write(value.longitude, field: 2) }
                if value.latitude.bitPattern != 0 { writer.write(value.latitude, field: 1) }
            }
        case .arrayValue(let value):
            write(field: 9) { writer in
                for element in value.values.reversed() { writer.write(element, field: 1) }
            }
        case .timestampValue(let value): write(value, field: 10)
        case .nullValue(let value): write(UInt64(bitPattern: Int64(value.rawValue)), field: 11)
        case .stringValue(let value): writeAlways(value, field: 17)
        case .bytesValue(let value): value.withUnsafeBytes { writeContent($0, field: 18) }
        case nil: break
        }
    }

    private mutating func write(_ map: Google_Firestore_V1_MapValue) {
        for entry in map.fields.reversed() {
            write(field: 1) { writer in
                if entry.hasValue { writer.write(entry.value, field: 2) }
                writer.write(entry.key, field: 1)
            }
        }
    }
}
