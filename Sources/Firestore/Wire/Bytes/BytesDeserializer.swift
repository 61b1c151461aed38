package import GRPCCore

/// Leaves answers as the bytes that came, for whoever knows more than SwiftProtobuf of them.
package struct BytesDeserializer: MessageDeserializer {
    /// A deserializer; it keeps nothing.
    package init() {}

    package func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) -> [UInt8] {
        bytes.withUnsafeBytes { [UInt8]($0) }
    }
}
