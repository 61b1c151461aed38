import Foundation
import LarderCore
import LarderRealtime

/// Conversion between JSON text and the values of the Realtime Database's API.
///
/// Output is in the export format: `.priority` and `.value` are members of objects, and there are
/// no arrays. Writes read it back unchanged.
enum RealtimeJSON {
    /// The deepest nesting of input, above the 32 levels that the database accepts.
    static let maximumDepth = 100

    /// The maximum size of a value on the command line or on standard input.
    private static let maxBytes = 16 * 1024 * 1024

    /// Parses a JSON value from the argument, or from standard input for `-`.
    static func argument(_ text: String) throws -> JSONValue {
        try JSONArgument.parse(
            text, named: "the value", maxBytes: maxBytes,
            hint: #"specify JSON, e.g. 42, '"text"' or '{"name": "Ada"}'"#
        ) { bytes throws(JSONError) in
            try JSONValue(parsing: bytes, maximumDepth: maximumDepth)
        }
    }

    /// A number, boolean, string or null in JSON; any other word as a string.
    static func word(_ text: String) -> JSONValue {
        switch try? JSONValue(parsing: Array(text.utf8)) {
        case nil, .array, .object: .string(text)
        case let value?: value
        }
    }

    // MARK: Values of the API

    /// The value as the API takes it.
    static func userValue(_ json: JSONValue) -> Any {
        switch json {
        case .null: NSNull()
        case .boolean(let flag): flag
        case .integer(let integer): Int(integer)
        case .double(let double): double
        case .string(let string): string
        case .array(let elements): elements.map(userValue)
        case .object(let members):
            Dictionary(
                members.map { ($0.name, userValue($0.value)) }, uniquingKeysWith: { $1 })
        }
    }

    /// The JSON of a value as the API returns it, with sorted names.
    static func json(_ value: Any?) -> JSONValue {
        switch value {
        case let text as String: .string(text)
        case let members as [String: Any]:
            .object(
                members.sorted { $0.key.utf8Order(to: $1.key) < 0 }
                    .map { JSONMember($0.key, json($0.value)) })
        case let elements as [Any]: .array(elements.map(json))
        case let number as NSNumber: json(number)
        default: .null
        }
    }

    private static func json(_ number: NSNumber) -> JSONValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"): .boolean(number.boolValue)
        case UInt8(ascii: "d"), UInt8(ascii: "f"): .double(number.doubleValue)
        default: .integer(number.int64Value)
        }
    }

    // MARK: Snapshots

    /// Appends the data of a snapshot, child by child in the snapshot's order.
    ///
    /// - Parameter indentation: the number of spaces before the lines; nil for a single line.
    static func append(_ snapshot: DataSnapshot, to bytes: inout [UInt8], indentation: Int? = nil) {
        append(snapshot, to: &bytes, indentation: indentation, onValue: { _ in })
    }

    /// Appends the data of a snapshot, and calls a closure after each value without children.
    static func append(
        _ snapshot: DataSnapshot, to bytes: inout [UInt8], indentation: Int? = nil,
        onValue: (inout [UInt8]) throws -> Void
    ) rethrows {
        guard snapshot.hasChildren() else {
            JSONWriter.append(json(snapshot.valueInExportFormat()), to: &bytes)
            return try onValue(&bytes)
        }
        let inner = indentation.map { $0 + 2 }
        var isFirst = true
        if let priority = snapshot.priority {
            begin(".priority", isFirst: true, indentation: inner, to: &bytes)
            JSONWriter.append(json(priority), to: &bytes)
            isFirst = false
        }
        for child in snapshot.childSnapshots {
            begin(child.key, isFirst: isFirst, indentation: inner, to: &bytes)
            try append(child, to: &bytes, indentation: inner, onValue: onValue)
            isFirst = false
        }
        newLine(indentation, to: &bytes)
        JSONWriter.append(raw: "}", to: &bytes)
    }

    private static func begin(
        _ name: String, isFirst: Bool, indentation: Int?, to bytes: inout [UInt8]
    ) {
        JSONWriter.append(raw: isFirst ? "{" : ",", to: &bytes)
        newLine(indentation, to: &bytes)
        JSONWriter.append(name, to: &bytes)
        JSONWriter.append(raw: indentation == nil ? ":" : ": ", to: &bytes)
    }

    private static func newLine(_ indentation: Int?, to bytes: inout [UInt8]) {
        guard let indentation else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: indentation))
    }

    /// The data of a snapshot on one line.
    static func text(_ snapshot: DataSnapshot) -> String {
        var bytes: [UInt8] = []
        append(snapshot, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A value on one line.
    static func text(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        JSONWriter.append(value, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
