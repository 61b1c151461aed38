internal import Foundation
public import LarderModel

/// For other coders than Firestore's, which take geo points as they are.
extension GeoPoint: Codable {
    private enum Key: String, CodingKey {
        case latitude, longitude
    }

    /// Decodes `{"latitude": …, "longitude": …}`.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for a place out of range.
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
