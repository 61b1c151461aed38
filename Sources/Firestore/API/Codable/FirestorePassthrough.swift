import Foundation
public import LarderModel

/// A type that coders pass through unchanged.
protocol FirestorePassthrough {}

extension Timestamp: FirestorePassthrough {}
extension GeoPoint: FirestorePassthrough {}
extension VectorValue: FirestorePassthrough {}
extension FieldValue: FirestorePassthrough {}

/// A property that is not part of the data: `@DocumentID`.
protocol OutsideTheData {}

// MARK: - Codable

/// For coders other than Firestore's, which pass timestamps through.
extension Timestamp: Codable {
    private enum Key: String, CodingKey {
        case seconds, nanoseconds
    }

    /// Decodes `{"seconds": …, "nanoseconds": …}`.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for a timestamp out of range.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let seconds = try container.decode(Int64.self, forKey: .seconds)
        let nanoseconds = try container.decode(Int32.self, forKey: .nanoseconds)
        do {
            try self.init(validatingSeconds: seconds, nanoseconds: nanoseconds)
        } catch {
            throw DecodingError.dataCorruptedError(
                forKey: .seconds, in: container, debugDescription: error.message)
        }
    }

    /// Encodes `{"seconds": …, "nanoseconds": …}`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(seconds, forKey: .seconds)
        try container.encode(nanoseconds, forKey: .nanoseconds)
    }
}

// MARK: - Codable

/// For coders other than Firestore's, which pass geo points through.
extension GeoPoint: Codable {
    private enum Key: String, CodingKey {
        case latitude, longitude
    }

    /// Decodes `{"latitude": …, "longitude": …}`.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for coordinates out of range.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let latitude = try container.decode(Double.self, forKey: .latitude)
        let longitude = try container.decode(Double.self, forKey: .longitude)
        do {
            try self.init(validatingLatitude: latitude, longitude: longitude)
        } catch {
            throw DecodingError.dataCorruptedError(
                forKey: .latitude, in: container, debugDescription: error.message)
        }
    }

    /// Encodes `{"latitude": …, "longitude": …}`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(latitude, forKey: .latitude)
        try container.encode(longitude, forKey: .longitude)
    }
}

// MARK: - Codable

/// For coders other than Firestore's, which pass vectors through.
extension VectorValue: Codable {
    private enum Key: String, CodingKey {
        case array
    }

    /// Decodes `{"array": […]}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        self.init(try container.decode([Double].self, forKey: .array))
    }

    /// Encodes `{"array": […]}`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(components, forKey: .array)
    }
}

// MARK: - Codable

/// Only Firestore's coders support references.
extension DocumentReference: Codable {
    /// Always fails: only `Firestore.Decoder` supports references.
    ///
    /// - Throws: `FirestoreDecodingError.decodingIsNotSupported`.
    public convenience init(from decoder: any Decoder) throws {
        throw FirestoreDecodingError.decodingIsNotSupported(
            "a DocumentReference can be decoded with Firestore.Decoder only")
    }

    /// Always fails: only `Firestore.Encoder` supports references.
    ///
    /// - Throws: `FirestoreEncodingError.encodingIsNotSupported`.
    public func encode(to encoder: any Encoder) throws {
        throw FirestoreEncodingError.encodingIsNotSupported(
            "a DocumentReference can be encoded with Firestore.Encoder only")
    }
}

// MARK: - Encodable

extension FieldValue: Encodable {
    /// Always fails: only `Firestore.Encoder` supports sentinels.
    ///
    /// - Throws: `FirestoreEncodingError.encodingIsNotSupported`.
    public func encode(to encoder: any Encoder) throws {
        throw FirestoreEncodingError.encodingIsNotSupported(
            "\(self) can be encoded with Firestore.Encoder only")
    }
}
