/// An instant in nanoseconds since the Unix epoch, UTC, between the years 0001 and 9999.
///
/// Firestore keeps microseconds: ``truncatedToMicroseconds`` is what it stores of a timestamp.
public struct Timestamp: Hashable, Sendable {
    /// Whole seconds since 1970-01-01T00:00:00Z; below 0 before that.
    public let seconds: Int64

    /// Nanoseconds after ``seconds``, 0 to 999,999,999, also before 1970.
    public let nanoseconds: Int32

    /// The smallest and largest seconds that Firestore allows: years 0001 to 9999.
    public static let validSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Timestamp(unchecked: 0, 0)

    /// Makes an instant; stops the program when it is out of range, as Apple's SDK does.
    ///
    /// For data from elsewhere use ``init(validatingSeconds:nanoseconds:)``.
    public init(seconds: Int64, nanoseconds: Int32) {
        precondition(
            Self.isValid(seconds, nanoseconds),
            "A timestamp lies between years 0001 and 9999 and has 0...999,999,999 nanoseconds.")
        self.init(unchecked: seconds, nanoseconds)
    }

    /// Makes an instant from data that may be out of range.
    ///
    /// - Throws: `invalidArgument` for seconds outside ``validSeconds`` or nanoseconds outside
    ///   0...999,999,999.
    public init(validatingSeconds seconds: Int64, nanoseconds: Int32) throws(LarderError) {
        guard Self.isValid(seconds, nanoseconds) else {
            throw .invalidArgument(
                "timestamp \(seconds) s, \(nanoseconds) ns: out of the years 0001 to 9999 or of "
                    + "0...999,999,999 nanoseconds")
        }
        self.init(unchecked: seconds, nanoseconds)
    }

    /// Takes what is known to be in range.
    package init(unchecked seconds: Int64, _ nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The instant without the part below a microsecond, as Firestore stores it.
    public var truncatedToMicroseconds: Timestamp {
        Timestamp(unchecked: seconds, nanoseconds / 1000 * 1000)
    }

    private static func isValid(_ seconds: Int64, _ nanoseconds: Int32) -> Bool {
        validSeconds.contains(seconds) && (0..<1_000_000_000).contains(nanoseconds)
    }
}

extension Timestamp: Comparable {
    /// Whether the left instant is before the right one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}
