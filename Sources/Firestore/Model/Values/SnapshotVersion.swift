public import Foundation

/// The version of a document or of a snapshot: an instant of the backend's clock, or none.
public struct SnapshotVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The instant; `Timestamp.epoch` for ``none``.
    public let timestamp: Timestamp

    /// No version; less than every other one.
    public static let none = SnapshotVersion(.epoch)

    /// The version of an instant.
    public init(_ timestamp: Timestamp) {
        self.timestamp = timestamp
    }

    /// True if this is ``none``.
    public var isNone: Bool { timestamp == .epoch }

    /// True if the left version is before the right one.
    public static func < (left: SnapshotVersion, right: SnapshotVersion) -> Bool {
        if left.isNone || right.isNone { return left.isNone && !right.isNone }
        return left.timestamp < right.timestamp
    }

    /// The instant in RFC 3339, or "none".
    public var description: String { isNone ? "none" : timestamp.description }
}

extension Timestamp {
    /// Creates an instant from unchecked numbers.
    ///
    /// - Throws: `invalidArgument` for seconds outside ``LarderCore/Timestamp/validSeconds`` or
    ///   nanoseconds outside 0...999,999,999.
    public init(validatingSeconds seconds: Int64, nanoseconds: Int32) throws(LarderError) {
        guard let valid = Timestamp(exactSeconds: seconds, nanoseconds: nanoseconds) else {
            throw .invalidArgument(
                "timestamp \(seconds) s, \(nanoseconds) ns: out of the years 0001 to 9999 or of "
                    + "0...999,999,999 nanoseconds")
        }
        self = valid
    }

    /// Creates an instant from an unchecked date.
    ///
    /// - Throws: `invalidArgument` for a date outside the years 0001 to 9999.
    public init(validating date: Date) throws(LarderError) {
        guard let valid = Timestamp(exactDate: date) else {
            throw .invalidArgument(
                "the date \(date.timeIntervalSince1970) s since 1970 is outside the years 0001 to "
                    + "9999")
        }
        self = valid
    }
}
