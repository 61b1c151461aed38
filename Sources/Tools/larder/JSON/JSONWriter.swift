import Foundation
import LarderModel

/// Appends JSON to bytes: compact, in one line, UTF-8, with only what must be escaped escaped.
enum JSONWriter {
    /// Appends a value; ``TypedJSON`` says how those are written that JSON has no notation for.
    static func append(_ value: Value, to bytes: inout [UInt8]) {
        switch value {
        case .null: append(raw: "null", to: &bytes)
        case .boolean(let flag): append(raw: flag ? "true" : "false", to: &bytes)
        case .integer(let integer): append(raw: String(integer), to: &bytes)
        case .double(let double): append(double, to: &bytes)
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
            append(point.latitude, to: &bytes)
            append(raw: ",\"\(TypedJSON.longitude)\":", to: &bytes)
            append(point.longitude, to: &bytes)
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

    /// Appends a string in quotes.
    static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { utf8 in
            var start = 0
            for position in 0..<utf8.count {
                let byte = utf8[position]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                else { continue }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start..<position]))
                appendEscape(byte, to: &bytes)
                start = position + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: utf8[start...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends a number; with a point or an exponent, so that it reads back as a double.
    static func append(_ double: Double, to bytes: inout [UInt8]) {
        if double.isFinite {
            append(raw: double.description, to: &bytes)
        } else {
            appendForm(
                TypedJSON.double,
                double.isNaN ? "NaN" : double < 0 ? "-Infinity" : "Infinity", to: &bytes)
        }
    }

    /// Appends text as it is.
    static func append(raw text: String, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: text.utf8)
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

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): append(raw: "\\\"", to: &bytes)
        case UInt8(ascii: "\\"): append(raw: "\\\\", to: &bytes)
        case 0x08: append(raw: "\\b", to: &bytes)
        case 0x09: append(raw: "\\t", to: &bytes)
        case 0x0A: append(raw: "\\n", to: &bytes)
        case 0x0C: append(raw: "\\f", to: &bytes)
        case 0x0D: append(raw: "\\r", to: &bytes)
        default:
            let digits = Array("0123456789abcdef".utf8)
            append(raw: "\\u00", to: &bytes)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
    }
}
