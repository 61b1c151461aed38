public import LarderModel

/// A small value that is kept by name.
public struct NamedValue: Hashable, Sendable {
    /// What a name is of; each kind has its own names.
    public enum Kind: Int32, Hashable, Sendable, CaseIterable {
        /// A value of the store itself, such as a stream token.
        case global = 1
        /// A bundle that was loaded; its time is the bundle's create time.
        case bundle = 2
        /// A named query; its time is the read time.
        case query = 3
    }

    /// The name, 1 to 1,500 bytes.
    public let name: String
    /// The kind's time; ``LarderModel/SnapshotVersion/none`` for none.
    public let time: SnapshotVersion
    /// The value, in the caller's encoding.
    public let payload: [UInt8]
}
