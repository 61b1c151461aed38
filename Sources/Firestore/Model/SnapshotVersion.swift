/// The version of a document or of a snapshot: an instant of the backend's clock, or none.
public struct SnapshotVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The instant; ``Timestamp/epoch`` for ``none``.
    public let timestamp: Timestamp

    /// No version: below every other one.
    public static let none = SnapshotVersion(.epoch)

    /// The version of an instant.
    public init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    /// Whether this is ``none``.
    public var isNone: Bool { timestamp == .epoch }

    /// Whether the left version is before the right one.
    public static func < (left: SnapshotVersion, right: SnapshotVersion) -> Bool {
        if left.isNone || right.isNone { return left.isNone && !right.isNone }
        return left.timestamp < right.timestamp
    }

    /// The instant in RFC 3339, or "none".
    public var description: String { isNone ? "none" : timestamp.description }
}
