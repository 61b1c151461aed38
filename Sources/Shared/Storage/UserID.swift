import LarderModel

/// Whose pending writes: each user of an application has a queue and a local view of their own.
public struct UserID: Sendable, CustomStringConvertible {
    /// The user's id; empty for ``unauthenticated``.
    public let string: String

    /// Nobody who signed in.
    public static let unauthenticated = UserID("")

    /// A user by an id of at most 256 bytes.
    public init(_ string: String) {
        self.string = string
    }

    /// The user's id.
    public var description: String { string }
}

extension UserID: Hashable {
    /// Whether both ids are the same bytes.
    public static func == (left: UserID, right: UserID) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }
}
