public import LarderModel

/// For other coders than Firestore's, which take vectors as they are.
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
