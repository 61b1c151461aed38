import Foundation
package import LarderCore
package import LarderModel

/// The JSON notation of values that JSON lacks.
///
///     {"$timestamp": "2026-01-31T12:00:00.5Z"}    RFC 3339, up to nine digits of a fraction
///     {"latitude": 37.77, "longitude": -122.42}   a geo point: these two names, both numbers
///     {"$bytes": "aGVsbG8="}                      base64
///     {"$reference": "projects/P/databases/D/documents/cities/SF"}
///     {"$vector": [1.0, 2.5]}
///     {"$double": "NaN"}                          also "Infinity" and "-Infinity"
///     {"$serverTimestamp": "2026-01-31T12:00:00Z"}  pending, with its local write time
///     {"$map": {"$bytes": 1}}                     a map that looks like one of these forms
///
/// Doubles always have a point or an exponent, so that 1.0 stays a double.
package enum TypedJSON {
    static let timestamp = "$timestamp"
    static let bytes = "$bytes"
    static let reference = "$reference"
    static let vector = "$vector"
    static let double = "$double"
    static let serverTimestamp = "$serverTimestamp"
    static let map = "$map"
    static let latitude = "latitude"
    static let longitude = "longitude"

    /// The names that mark a typed form.
    static let names: Set<String> = [
        timestamp, bytes, reference, vector, double, serverTimestamp, map,
    ]

    /// The reason why an object with a form's name is malformed.
    struct Failure: Error {
        var reason: String
    }

    /// Whether a map has a typed form and needs `$map`.
    static func isAmbiguous(_ entries: MapValue) -> Bool {
        switch entries.count {
        case 1: names.contains(entries[0].name)
        case 2:
            entries[0].name == latitude && entries[1].name == longitude
                && isNumber(entries[0].value) && isNumber(entries[1].value)
        default: false
        }
    }

    /// The value of a form; nil for a plain map.
    static func value(of entries: [MapValue.Element]) throws(Failure) -> Value? {
        switch entries.count {
        case 1 where entries[0].name.utf8.first == UInt8(ascii: "$"):
            return try single(entries[0].name, entries[0].value)
        case 2:
            let swapped = entries[0].name == longitude
            let (first, second) = swapped ? (entries[1], entries[0]) : (entries[0], entries[1])
            guard first.name == latitude, second.name == longitude,
                let north = number(first.value), let east = number(second.value)
            else { return nil }
            do throws(LarderError) {
                return .geoPoint(try GeoPoint(validatingLatitude: north, longitude: east))
            } catch {
                throw Failure(reason: error.message)
            }
        default: return nil
        }
    }

    private static func single(_ name: String, _ content: Value) throws(Failure) -> Value? {
        switch (name, content) {
        // With --timestamps the string is already a timestamp.
        case (timestamp, .timestamp): return content
        case (timestamp, .string(let text)):
            guard let time = Timestamp(rfc3339: text) else { break }
            return .timestamp(time)
        case (serverTimestamp, .timestamp(let time)):
            return .serverTimestamp(PendingServerTimestamp(localWriteTime: time))
        case (serverTimestamp, .string(let text)):
            guard let time = Timestamp(rfc3339: text) else { break }
            return .serverTimestamp(PendingServerTimestamp(localWriteTime: time))
        case (bytes, .string(let text)):
            guard let data = Data(base64Encoded: text) else { break }
            return .bytes([UInt8](data))
        case (reference, .string(let text)):
            return .reference(ResourceName(text))
        case (vector, .array(let elements)):
            let components = elements.compactMap(number)
            guard components.count == elements.count else { break }
            return .vector(VectorValue(components))
        case (double, .string("NaN")): return .double(.nan)
        case (double, .string("Infinity")): return .double(.infinity)
        case (double, .string("-Infinity")): return .double(-.infinity)
        case (map, .map): return content
        default:
            if !names.contains(name) { return nil }
        }
        throw Failure(reason: wanted(name))
    }

    private static func wanted(_ name: String) -> String {
        let content =
            switch name {
            case timestamp, serverTimestamp: "an RFC 3339 time between years 0001 and 9999"
            case bytes: "base64 text"
            case reference: "a document's resource name"
            case vector: "an array of numbers"
            case double: "\"NaN\", \"Infinity\" or \"-Infinity\""
            default: "an object"
            }
        return "\(name) takes \(content)"
    }

    private static func isNumber(_ value: Value) -> Bool { number(value) != nil }

    /// The number of a value, including NaN and infinities, which are `$double` inside a vector.
    private static func number(_ value: Value) -> Double? {
        switch value {
        case .integer(let integer): Double(integer)
        case .double(let double): double
        default: nil
        }
    }
}

/// Values of documents as JSON.
extension JSONWriter {
    /// Appends a value; in the notation of ``TypedJSON`` if JSON has none.
    package static func append(_ value: Value, to bytes: inout [UInt8]) {
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
            // Never part of a document.
            append(raw: "null", to: &bytes)
        }
    }

    /// Appends the entries of a map as an object.
    package static func append(_ map: MapValue, to bytes: inout [UInt8]) {
        append(raw: "{", to: &bytes)
        var isFirst = true
        appendEntries(map, isFirst: &isFirst, to: &bytes)
        append(raw: "}", to: &bytes)
    }

    /// Appends the entries of a map without braces, each preceded by a comma except the first.
    package static func appendEntries(_ map: MapValue, isFirst: inout Bool, to bytes: inout [UInt8])
    {
        for (name, value) in map {
            if !isFirst { append(raw: ",", to: &bytes) }
            isFirst = false
            append(name, to: &bytes)
            append(raw: ":", to: &bytes)
            append(value, to: &bytes)
        }
    }

    /// Appends a number with a point or an exponent, or in the notation for NaN and infinities.
    package static func appendTyped(_ double: Double, to bytes: inout [UInt8]) {
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
