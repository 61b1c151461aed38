internal import Foundation
public import LarderModel

/// For other coders than Firestore's, which take timestamps as they are.
extension Timestamp: Codable {
    private enum Key: String, CodingKey {
        case seconds, nanoseconds
    }

    /// Decodes `{"seconds": …, "nanoseconds": …}`.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for an instant out of range.
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
