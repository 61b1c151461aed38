import Foundation
import LarderCore
import LarderModel

/// Values of documents as JSON.
extension JSONWriter {
    /// Appends a value; ``TypedJSON`` says how those are written that JSON has no notation for.
    static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null: append(raw: "null", to: &bytes)
        case .boolean(let flag): append(flag, to: &bytes)
        case .integer(let integer): append(integer, to: &bytes)
        case .double(let double): appendTyped(double, to: &bytes)
        case .timestamp(let time): appendForm(TypedJSON.timestamp, time.description, to: &bytes)
        case .serverTimestamp(let pending):
            appendForm(
                TypedJSON.serverTimestamp, pending.localWriteTime.description, to: &bytes)
        case .string(let string): append(string, to: &bytes)
        case .bytes(let content):
            appendForm(TypedJSON.bytes, Data(content).base64EncodedString(), to: &bytes)
        case .reference(let name): appendForm(TypedJSON.reference, name.string, to: &bytes)
        case .geoPoint(let point):
            append(raw: "{\"\(TypedJSON.latitude)\":", to: &bytes)
            appendTyped(point.latitude, to: &bytes)
            append(raw: ",\"\(TypedJSON.longitude)\":", to: &bytes)
            appendTyped(point.longitude, to: &bytes)
            append(raw: "}", to: &bytes)
        case .array(let elements):
            append(elements, to: &bytes)
        case .vector(let vector):
            append(raw: "{\"\(TypedJSON.vector)\":", to: &bytes)
            append(vector.components.map { .double($0) }, to: &bytes)
            append(raw: "}", to: &bytes)
        case .map(let map):
            if TypedJSON.isAmbiguous(map) {
                append(raw: "{\"\(TypedJSON.map)\":", to: &bytes)
                append(map, to: &bytes)
                append(raw: "}", to: &bytes)
            } else {
                append(map, to: &bytes)
            }
        case .max:
            // Never in a document.
            append(raw: "null", to: &bytes)
        }
    }

    /// Appends the entries of a map as an object.
    static func append(_ map: MapValue, to bytes: inout [UInt8]) {
        append(raw: "{", to: &bytes)
        var isFirst = true
        appendEntries(map, isFirst: &isFirst, to: &bytes)
        append(raw: "}", to: &bytes)
    }

    /// Appends the entries of a map without braces, with a comma in front of all but the first.
    static func appendEntries(_ map: MapValue, isFirst: inout Bool, to bytes: inout [UInt8]) {
        for (name, value) in map {
            if !isFirst { append(raw: ",", to: &bytes) }
            isFirst = false
            append(name, to: &bytes)
            append(raw: ":", to: &bytes)
            append(value, to: &bytes)
        }
    }

    /// Appends a number with a point or an exponent, or one of those that JSON does not have.
    static func appendTyped(_ double: Double, to bytes: inout [UInt8]) {
        if double.isFinite {
            append(double, to: &bytes)
        } else {
            appendForm(
                TypedJSON.double,
                double.isNaN ? "NaN" : double < 0 ? "-Infinity" : "Infinity", to: &bytes)
        }
    }

    private static func append(_ elements: [Value], to bytes: inout [UInt8]) {
        append(raw: "[", to: &bytes)
        for (position, element) in elements.enumerated() {
            if position > 0 { append(raw: ",", to: &bytes) }
            append(element, to: &bytes)
        }
        append(raw: "]", to: &bytes)
    }

    private static func appendForm(_ name: String, _ text: String, to bytes: inout [UInt8]) {
        append(raw: "{\"\(name)\":", to: &bytes)
        append(text, to: &bytes)
        append(raw: "}", to: &bytes)
    }
}
