import Foundation
import LarderCore
import LarderModel

extension Value {
    /// A value as `google.firestore.v1.Value` is written in JSON.
    ///
    /// - Throws: `invalidArgument` for anything else.
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

    /// A map, or the vector that it stands for.
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
    /// Fields by name; of equal names the last counts.
    init(json members: [JSONMember]) throws(LarderError) {
        var entries: [MapValue.Element] = []
        entries.reserveCapacity(members.count)
        for member in members { entries.append((member.name, try Value(json: member.value))) }
        self.init(entries)
    }
}
