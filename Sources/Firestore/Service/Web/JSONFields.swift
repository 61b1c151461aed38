import LarderCore
import SwiftProtobuf

/// Converts between Firestore's JSON and that of the messages of LarderWire, which have the fields
/// of documents and maps as a list of entries.
///
/// | | |
/// |---|---|
/// | Firestore's | `{"fields": {"n": {"integerValue": "1"}}}` |
/// | of the messages | `{"fields": [{"key": "n", "value": {"integerValue": "1"}}]}` |
///
/// Everything else is copied, strings without escapes that they do not need: SwiftProtobuf 1.39 reads
/// the escaped surrogate pairs of planes 2, 4, 6 to 16 as characters of other planes.
///
/// `fields` of a projection is an array in both forms.
struct JSONFields {
    private enum Form {
        case objects, entries
    }

    /// A value of Firestore's nests three objects for each level of maps and arrays.
    private static let maximumDepth = 200

    private let form: Form
    private let text: UnsafeRawBufferPointer
    private var output: [UInt8] = []

    /// The JSON of a message with fields as entries.
    static func entries(of json: [UInt8]) throws(JSONError) -> [UInt8] {
        try converted(json, to: .entries)
    }

    /// The JSON of a message with fields as objects.
    static func objects(of json: [UInt8]) throws(JSONError) -> [UInt8] {
        try converted(json, to: .objects)
    }

    private static func converted(_ json: [UInt8], to form: Form) throws(JSONError) -> [UInt8] {
        try json.withUnsafeBufferPointer { (bytes) throws(JSONError) in
            let text = UnsafeRawBufferPointer(bytes)
            var converter = JSONFields(form: form, text: text)
            converter.output.reserveCapacity(text.count + text.count / 4)
            var reader = JSONReader(text, maximumDepth: maximumDepth)
            try converter.copyValue(&reader)
            try reader.finish()
            return converter.output
        }
    }

    private init(form: Form, text: UnsafeRawBufferPointer) {
        self.form = form
        self.text = text
    }

    private mutating func copyValue(_ reader: inout JSONReader) throws(JSONError) {
        switch reader.peek() {
        case UInt8(ascii: "{"): try copyObject(&reader)
        case UInt8(ascii: "["): try copyArray(&reader)
        default: try copyScalar(&reader)
        }
    }

    private mutating func copyObject(_ reader: inout JSONReader) throws(JSONError) {
        var separator = "{"
        try reader.readObject { (reader, name) throws(JSONError) in
            append(&separator)
            JSONWriter.append(name, to: &output)
            JSONWriter.append(raw: ":", to: &output)
            switch (name, form, reader.peek()) {
            case ("fields", .entries, UInt8(ascii: "{")): try copyFields(ofObject: &reader)
            case ("fields", .objects, UInt8(ascii: "[")): try copyFields(ofEntries: &reader)
            default: try copyValue(&reader)
            }
        }
        JSONWriter.append(raw: separator == "{" ? "{}" : "}", to: &output)
    }

    private mutating func copyArray(_ reader: inout JSONReader) throws(JSONError) {
        var separator = "["
        try reader.readArray { (reader) throws(JSONError) in
            append(&separator)
            try copyValue(&reader)
        }
        JSONWriter.append(raw: separator == "[" ? "[]" : "]", to: &output)
    }

    private mutating func copyScalar(_ reader: inout JSONReader) throws(JSONError) {
        guard let byte = reader.peek() else { throw reader.expectedValue() }
        let start = reader.offset
        switch byte {
        case UInt8(ascii: "\""):
            let string = try reader.readString()
            if text[start..<reader.offset].contains(UInt8(ascii: "\\")) {
                return JSONWriter.append(string, to: &output)
            }
        case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try reader.readBoolean()
        case UInt8(ascii: "n"): try reader.readNull()
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try reader.readNumber()
        default: throw reader.expectedValue()
        }
        output.append(contentsOf: text[start..<reader.offset])
    }

    // MARK: Fields

    private mutating func copyFields(ofObject reader: inout JSONReader) throws(JSONError) {
        var separator = "["
        try reader.readObject { (reader, name) throws(JSONError) in
            append(&separator)
            JSONWriter.append(raw: #"{"key":"#, to: &output)
            JSONWriter.append(name, to: &output)
            JSONWriter.append(raw: #","value":"#, to: &output)
            try copyValue(&reader)
            JSONWriter.append(raw: "}", to: &output)
        }
        JSONWriter.append(raw: separator == "[" ? "[]" : "]", to: &output)
    }

    private mutating func copyFields(ofEntries reader: inout JSONReader) throws(JSONError) {
        var separator = "{"
        try reader.readArray { (reader) throws(JSONError) in
            append(&separator)
            // The key comes first. An empty one is left out, as all defaults are.
            var (hasKey, hasValue) = (false, false)
            try reader.readObject { (reader, name) throws(JSONError) in
                if name == "key" {
                    appendKey(try reader.readString())
                } else {
                    if !hasKey { appendKey("") }
                    try copyValue(&reader)
                    hasValue = true
                }
                hasKey = true
            }
            if !hasKey { appendKey("") }
            if !hasValue { JSONWriter.append(raw: "{}", to: &output) }
        }
        JSONWriter.append(raw: separator == "{" ? "{}" : "}", to: &output)
    }

    private mutating func appendKey(_ key: String) {
        JSONWriter.append(key, to: &output)
        JSONWriter.append(raw: ":", to: &output)
    }

    /// Appends a bracket before the first element, and a comma before any other.
    private mutating func append(_ separator: inout String) {
        JSONWriter.append(raw: separator, to: &output)
        separator = ","
    }
}

extension Message {
    /// Reads a message of Firestore's JSON; SwiftProtobuf receives all of its JSON from here.
    init(firestoreJSON json: [UInt8]) throws {
        try self.init(jsonUTF8Bytes: try JSONFields.entries(of: json))
    }
}
