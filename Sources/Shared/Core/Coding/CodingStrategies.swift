public import Foundation

/// The strategies that the coders of both databases have, which name them by their own types, such as
/// `FirestoreEncoder.KeyEncodingStrategy`.
public enum CodingStrategies {
    /// The representation of encoded `Data`.
    public enum DataEncoding {
        /// Bytes, which a Realtime Database does not store.
        case blob
        /// The default encoding of `Data`: an array of numbers.
        case deferredToData
        /// A Base64 string.
        case base64
        /// A custom closure.
        case custom((Data, any Encoder) throws -> Void)
    }

    /// The representation that `Data` is decoded from.
    public enum DataDecoding {
        /// Bytes; a string is decoded as Base64.
        case blob
        /// The default encoding of `Data`: an array of numbers.
        case deferredToData
        /// A Base64 string; bytes are accepted, too.
        case base64
        /// A custom closure.
        case custom((any Decoder) throws -> Data)
    }

    /// The treatment of infinities and NaN by an encoder.
    public enum FloatEncoding {
        /// Throws an error.
        case `throw`
        /// Represents them as strings.
        case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The strings that a decoder takes for infinities and NaN; those in the data itself are always
    /// accepted.
    public enum FloatDecoding {
        /// No strings.
        case `throw`
        /// Represents them as strings.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }

    /// The conversion of property names to names in the data.
    ///
    /// Keys of dictionaries are data and are not converted.
    public enum KeyEncoding {
        /// No conversion.
        case useDefaultKeys
        /// From `camelCase` to `snake_case`.
        case convertToSnakeCase
        /// A custom closure, called with the coding path from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }

    /// The conversion of names in the data to property names.
    ///
    /// Keys of dictionaries are data and are not converted.
    public enum KeyDecoding {
        /// No conversion.
        case useDefaultKeys
        /// From `snake_case` to `camelCase`.
        case convertFromSnakeCase
        /// A custom closure, called with the coding path from the root.
        case custom(([any CodingKey]) -> any CodingKey)
    }
}

// MARK: - Encoding

extension CodingStrategies.DataEncoding {
    func encoded(_ data: Data, _ own: OwnEncoding) throws -> Any {
        switch self {
        case .blob: return data
        case .deferredToData: return try own(data) { try data.encode(to: $0) }
        case .base64: return data.base64EncodedString()
        case .custom(let encode): return try own(data) { try encode(data, $0) }
        }
    }
}

extension CodingStrategies.FloatEncoding {
    /// The text for an infinity or NaN; nil if there is none.
    func text(of number: Double) -> String? {
        guard case .convertToString(let positiveInfinity, let negativeInfinity, let nan) = self
        else { return nil }
        return number.isNaN ? nan : number > 0 ? positiveInfinity : negativeInfinity
    }
}

extension CodingStrategies.KeyEncoding {
    /// The name of a property in the data.
    func name(of key: any CodingKey, at path: @autoclosure () -> [any CodingKey]) -> String {
        switch self {
        case .useDefaultKeys: key.stringValue
        case .convertToSnakeCase: SnakeCase.encoding(key.stringValue)
        case .custom(let convert): convert(path() + [key]).stringValue
        }
    }
}

// MARK: - Decoding

extension CodingStrategies.DataDecoding {
    func data(_ source: DecodingSource) throws -> Data {
        switch self {
        case .blob, .base64: try source.bytes()
        case .deferredToData: try source.decoded(Data.init(from:))
        case .custom(let decode): try source.decoded(decode)
        }
    }
}

extension CodingStrategies.FloatDecoding {
    /// The infinity or NaN that a text is for; nil for other texts.
    func number(of text: String) -> Double? {
        guard case .convertFromString(let positiveInfinity, let negativeInfinity, let nan) = self
        else { return nil }
        switch text {
        case positiveInfinity: return .infinity
        case negativeInfinity: return -.infinity
        case nan: return .nan
        default: return nil
        }
    }
}

extension CodingStrategies.KeyDecoding {
    /// The conversion of names in the data to those of properties; nil for none.
    func naming(at path: @autoclosure () -> [any CodingKey]) -> ((String) -> String)? {
        switch self {
        case .useDefaultKeys: return nil
        case .convertFromSnakeCase: return SnakeCase.decoding
        case .custom(let convert):
            let path = path()
            return { convert(path + [PlainKey(stringValue: $0)]).stringValue }
        }
    }
}
