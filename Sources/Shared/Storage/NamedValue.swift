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
        /// A batch that the backend has refused; its time is when.
        case deadLetter = 4
        /// What a commit is to tell other clients of the store.
        case journal = 5
        /// A client that shares the store.
        case client = 6
        /// What the clients that share the store have in common.
        case shared = 7
    }

    /// The name, 1 to 1,500 bytes.
    public let name: String
    /// The kind's time; ``LarderModel/SnapshotVersion/none`` for none.
    public let time: SnapshotVersion
    /// The value, in the caller's encoding.
    public let payload: [UInt8]
}
