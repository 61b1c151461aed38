package import Foundation

/// What distinguishes the data that one of the databases' encoders makes from that of others: the
/// strategies that the application has chosen, and values that are data already.
package protocol EncodingFormat {
    var data: CodingStrategies.DataEncoding { get }
    var float: CodingStrategies.FloatEncoding { get }
    var key: CodingStrategies.KeyEncoding { get }
    var userInfo: [CodingUserInfoKey: Any] { get }

    /// Whether a value is data already.
    func isData(_ value: Any) -> Bool

    /// Whether properties of a type are not part of the data.
    func isOutside(_ type: Any.Type) -> Bool

    /// Encodes a date, itself or with its encoder.
    func encoded(_ date: Date, _ own: OwnEncoding) throws -> Any
}

/// Encodes a value as a closure does with an encoder.
package struct OwnEncoding {
    fileprivate let options: ValueEncoding.Options
    fileprivate let location: CodingLocation

    package func callAsFunction<T>(
        _ value: T, _ encode: (any Encoder) throws -> Void
    ) throws -> Any {
        try options.nested(value, at: location, encode)
    }

    package func invalid(_ value: Any, _ text: String) -> EncodingError {
        ValueEncoding.Options.invalid(value, text, at: location)
    }
}

/// The encoder of one value, which fills a slot.
package struct ValueEncoding: Encoder {
    /// The format of the data, for every value of a call.
    package struct Options {
        let format: any EncodingFormat

        package init(_ format: any EncodingFormat) {
            self.format = format
        }
    }

    let slot: EncodingSlot
    let location: CodingLocation
    let options: Options
    /// Whether the keys of the next map are property names, not data.
    var convertsKeys = true

    package var codingPath: [any CodingKey] { location.path }
    package var userInfo: [CodingUserInfoKey: Any] { options.format.userInfo }

    package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        slot.becomeMap()
        return KeyedEncodingContainer(KeyedEncoding(encoding: self))
    }

    package func unkeyedContainer() -> any UnkeyedEncodingContainer {
        slot.becomeList()
        return UnkeyedEncoding(encoding: self)
    }

    package func singleValueContainer() -> any SingleValueEncodingContainer {
        SingleValueEncoding(encoding: self)
    }

    func below(_ key: any CodingKey, in slot: EncodingSlot) -> ValueEncoding {
        ValueEncoding(slot: slot, location: location.appending(key), options: options)
    }

    func name(of key: any CodingKey) -> String {
        guard convertsKeys else { return key.stringValue }
        return options.format.key.name(of: key, at: codingPath)
    }
}

// MARK: - Options

extension ValueEncoding.Options {
    package func encoded<T: Encodable>(
        _ value: T, at location: @autoclosure () -> CodingLocation
    ) throws -> Any {
        if T.self == Date.self, let date = value as? Date {
            return try format.encoded(date, OwnEncoding(options: self, location: location()))
        }
        if T.self == Data.self, let data = value as? Data {
            return try format.data.encoded(data, OwnEncoding(options: self, location: location()))
        }
        if format.isData(value) { return value }
        if let url = value as? URL { return url.absoluteString }
        if let number = value as? Decimal { return NSDecimalNumber(decimal: number) }
        return try nested(value, at: location()) { try value.encode(to: $0) }
    }

    func encoded(_ number: Double, at location: @autoclosure () -> CodingLocation) throws -> Any {
        if number.isFinite { return NSNumber(value: number) }
        if let text = format.float.text(of: number) { return text }
        throw Self.invalid(
            number, "\(number) needs a nonConformingFloatEncodingStrategy", at: location())
    }

    /// Encodes a value with its own `encode(to:)`; an empty map if that encodes nothing.
    fileprivate func nested<T>(
        _ value: T, at location: CodingLocation, _ encode: (any Encoder) throws -> Void
    ) throws -> Any {
        guard location.depth <= CodingLocation.maxDepth else {
            throw Self.invalid(
                value, "values are nested deeper than \(CodingLocation.maxDepth) levels",
                at: location)
        }
        let slot = EncodingSlot()
        try encode(
            ValueEncoding(
                slot: slot, location: location, options: self,
                convertsKeys: !(T.self is any StringKeyedDictionary.Type)))
        return slot.finished ?? [String: Any]()
    }

    fileprivate static func invalid(
        _ value: Any, _ text: String, at location: CodingLocation
    ) -> EncodingError {
        .invalidValue(
            value, EncodingError.Context(codingPath: location.path, debugDescription: text))
    }
}

/// A dictionary, whose keys are data and not subject to key strategies.
protocol StringKeyedDictionary {}

extension Dictionary: StringKeyedDictionary where Key == String {}
