import Foundation
import LarderCore
import LarderModel

extension JSONValue {
    /// The maximum depth of JSON: values and filters take three levels each.
    private static let maxBundleDepth = 200

    /// Of members with equal names the last is used, as by every reader of Protocol Buffers in
    /// JSON.
    ///
    /// - Throws: `invalidArgument` for anything but JSON.
    init(bundled text: UnsafeRawBufferPointer) throws(LarderError) {
        do throws(JSONError) {
            try self.init(
                parsing: text, maximumDepth: Self.maxBundleDepth, duplicateNames: .kept)
        } catch {
            throw .malformedBundle("JSON, byte \(error.offset + 1): \(error.reason)")
        }
    }

    var isObject: Bool {
        if case .object = self { true } else { false }
    }

    func member(_ name: String) -> JSONValue? {
        let found = self[name]
        return found == .null ? nil : found
    }
}

/// Reads members of objects. Missing and null members have their type's default, as in the JSON of
/// Protocol Buffers; others of the wrong type are malformed.
extension JSONValue {
    /// Text; empty by default.
    func string(_ name: String) throws(LarderError) -> String {
        switch member(name) {
        case nil: return ""
        case .string(let text): return text
        default: throw .malformedBundle("'\(name)' is no text")
        }
    }

    /// An integer of 64 bits, as a number or as text; 0 by default.
    func integer(_ name: String) throws(LarderError) -> Int64 {
        try member(name)?.integer() ?? 0
    }

    /// False by default.
    func boolean(_ name: String) throws(LarderError) -> Bool {
        switch member(name) {
        case nil: return false
        case .boolean(let value): return value
        default: throw .malformedBundle("'\(name)' is neither true nor false")
        }
    }

    /// Empty by default.
    func array(_ name: String) throws(LarderError) -> [JSONValue] {
        switch member(name) {
        case nil: return []
        case .array(let elements): return elements
        default: throw .malformedBundle("'\(name)' is no list")
        }
    }

    /// Empty by default.
    func members(_ name: String) throws(LarderError) -> [JSONMember] {
        switch member(name) {
        case nil: return []
        case .object(let members): return members
        default: throw .malformedBundle("'\(name)' is no object")
        }
    }

    /// A required instant.
    func timestamp(_ name: String) throws(LarderError) -> Timestamp {
        guard let node = member(name) else { throw .malformedBundle("'\(name)' is missing") }
        return try node.timestamp()
    }

    /// A number, or text with a number.
    func integer() throws(LarderError) -> Int64 {
        switch self {
        case .integer(let number): return number
        case .double(let number):
            if let number = Int64(exactly: number) { return number }
        case .string(let text):
            if let number = Int64(text) { return number }
            if let number = Self.finite(text).flatMap({ Int64(exactly: $0) }) { return number }
        default: break
        }
        throw .malformedBundle("a number is no integer of 64 bits")
    }

    /// A number, or text with a number, including NaN and the infinities.
    func double() throws(LarderError) -> Double {
        switch self {
        case .string("NaN"): return .nan
        case .string("Infinity"): return .infinity
        case .string("-Infinity"): return -.infinity
        case .integer(let number): return Double(number)
        case .double(let number): return number
        case .string(let text):
            if let number = Self.finite(text) { return number }
        default: break
        }
        throw .malformedBundle("a number is no double")
    }

    /// A decimal number in the range of doubles; Swift reads other notations, too.
    private static func finite(_ text: String) -> Double? {
        guard text.utf8.allSatisfy("0123456789+-.eE".utf8.contains) else { return nil }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// An instant: text in RFC 3339, or an object of seconds and nanoseconds.
    func timestamp() throws(LarderError) -> Timestamp {
        switch self {
        case .string(let text):
            if let time = Timestamp(rfc3339: text) { return time }
        case .object:
            let (seconds, nanoseconds) = (try integer("seconds"), try integer("nanos"))
            if let nanoseconds = Int32(exactly: nanoseconds),
                let time = try? Timestamp(validatingSeconds: seconds, nanoseconds: nanoseconds)
            {
                return time
            }
        default: break
        }
        throw .malformedBundle("a time is none")
    }
}

extension LarderError {
    static func malformedBundle(_ reason: String, cause: LarderError? = nil) -> LarderError {
        LarderError(.invalidArgument, "the bundle is malformed: \(reason)", cause: cause)
    }
}

extension Value {
    /// A value from the JSON of `google.firestore.v1.Value`.
    ///
    /// - Throws: `invalidArgument` for a malformed value.
    init(json node: JSONValue) throws(LarderError) {
        guard case .object(let members) = node, members.count == 1, let member = members.first
        else { throw .malformedBundle("a value is no object of one member") }
        switch (member.name, member.value) {
        case ("nullValue", _): self = .null
        case ("booleanValue", .boolean(let value)): self = .boolean(value)
        case ("integerValue", let number): self = .integer(try number.integer())
        case ("doubleValue", let number): self = .double(try number.double())
        case ("timestampValue", let time): self = .timestamp(try time.timestamp())
        case ("stringValue", .string(let text)): self = .string(text)
        case ("bytesValue", .string(let text)): self = .bytes(try Self.bytes(base64: text))
        case ("referenceValue", .string(let name)): self = .reference(ResourceName(name))
        case ("geoPointValue", let place) where place.isObject:
            self = .geoPoint(try Self.geoPoint(place))
        case ("arrayValue", let list) where list.isObject:
            var elements: [Value] = []
            for element in try list.array("values") { elements.append(try Value(json: element)) }
            self = .array(elements)
        case ("mapValue", let map) where map.isObject:
            self = Self.mapOrVector(try MapValue(json: map.members("fields")))
        default: throw .malformedBundle("a value has an unknown or a wrong '\(member.name)'")
        }
    }

    private static func geoPoint(_ node: JSONValue) throws(LarderError) -> GeoPoint {
        let latitude = try node.member("latitude")?.double() ?? 0
        let longitude = try node.member("longitude")?.double() ?? 0
        do {
            return try GeoPoint(validatingLatitude: latitude, longitude: longitude)
        } catch {
            throw .malformedBundle("a place that there is not", cause: error)
        }
    }

    /// A map, or the vector that it represents.
    private static func mapOrVector(_ entries: MapValue) -> Value {
        guard entries["__type__"] == "__vector__", entries.count == 2,
            case .array(let elements)? = entries["value"]
        else { return .map(entries) }
        var components: [Double] = []
        for element in elements {
            guard case .double(let component) = element else { return .map(entries) }
            components.append(component)
        }
        return .vector(VectorValue(components))
    }

    /// Bytes in either alphabet of Base64, with or without padding.
    private static func bytes(base64 text: String) throws(LarderError) -> [UInt8] {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        while plain.hasSuffix("=") { plain.removeLast() }
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: plain) else {
            throw .malformedBundle("bytes that are not in Base64")
        }
        return [UInt8](data)
    }
}

extension MapValue {
    /// Fields by name; of equal names the last is used.
    init(json members: [JSONMember]) throws(LarderError) {
        var entries: [MapValue.Element] = []
        entries.reserveCapacity(members.count)
        for member in members { entries.append((member.name, try Value(json: member.value))) }
        self.init(entries)
    }
}
