public import Foundation

/// An instant in nanoseconds since the Unix epoch, UTC, between the years 0001 and 9999.
///
/// Firestore stores microseconds: see ``truncatedToMicroseconds``.
public struct Timestamp: Hashable, ObjectComparable, Sendable {
    /// Whole seconds since 1970-01-01T00:00:00Z; below 0 before that.
    public let seconds: Int64

    /// Nanoseconds after ``seconds``, 0 to 999,999,999, also before 1970.
    public let nanoseconds: Int32

    /// The smallest and largest seconds that Firestore allows: years 0001 to 9999.
    public static let validSeconds: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// 1970-01-01T00:00:00Z.
    public static let epoch = Timestamp(unchecked: 0, 0)

    /// Creates an instant; terminates the process if it is out of range, like Apple's SDK.
    ///
    /// For unchecked data use ``init(exactSeconds:nanoseconds:)``.
    public init(seconds: Int64, nanoseconds: Int32) {
        precondition(
            Self.isValid(seconds, nanoseconds),
            "A timestamp must be between years 0001 and 9999 and have 0...999,999,999 nanoseconds.")
        self.init(unchecked: seconds, nanoseconds)
    }

    /// Creates an instant from unchecked data; nil for seconds outside ``validSeconds`` or
    /// nanoseconds outside 0...999,999,999.
    public init?(exactSeconds seconds: Int64, nanoseconds: Int32) {
        guard Self.isValid(seconds, nanoseconds) else { return nil }
        self.init(unchecked: seconds, nanoseconds)
    }

    /// Creates an instant that is known to be in range.
    package init(unchecked seconds: Int64, _ nanoseconds: Int32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The instant truncated to microseconds, as Firestore stores it.
    public var truncatedToMicroseconds: Timestamp {
        Timestamp(unchecked: seconds, nanoseconds / 1000 * 1000)
    }

    private static func isValid(_ seconds: Int64, _ nanoseconds: Int32) -> Bool {
        validSeconds.contains(seconds) && (0..<1_000_000_000).contains(nanoseconds)
    }
}

extension Timestamp: Comparable {
    /// True if the left instant is before the right one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

// MARK: - Dates and text

extension Timestamp {
    /// The instant of a date, to the nearest microsecond.
    ///
    /// A `Date` has a resolution of about 0.2 microseconds today; further digits are meaningless.
    ///
    /// Terminates the process for a date outside the years 0001 to 9999, like Apple's SDK; use
    /// ``init(exactDate:)`` for unchecked dates.
    public init(date: Date) {
        let parts = Self.split(date)
        precondition(
            parts.map { Self.validSeconds.contains($0.seconds) } ?? false,
            "A timestamp must be between years 0001 and 9999.")
        self.init(unchecked: parts?.seconds ?? 0, parts?.nanoseconds ?? 0)
    }

    /// The instant of a date; nil for a date outside the years 0001 to 9999.
    public init?(exactDate date: Date) {
        guard let parts = Self.split(date) else { return nil }
        self.init(exactSeconds: parts.seconds, nanoseconds: parts.nanoseconds)
    }

    /// The current time, with the system clock's resolution.
    public static func now() -> Timestamp {
        Timestamp(date: Date())
    }

    /// The nearest `Date`, exact to less than half a microsecond from 1901 to 2106; of a timestamp in
    /// whole microseconds ``init(date:)`` makes the same one again.
    public func dateValue() -> Date {
        Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
    }

    /// The seconds, rounded down, and the remaining nanoseconds, to the nearest microsecond; nil if
    /// they exceed an Int64.
    private static func split(_ date: Date) -> (seconds: Int64, nanoseconds: Int32)? {
        let interval = date.timeIntervalSince1970
        guard let seconds = Int64(exactly: interval.rounded(.down)) else { return nil }
        let microseconds = Int32(((interval - Double(seconds)) * 1e6).rounded())
        guard microseconds >= 1_000_000 else { return (seconds, microseconds * 1_000) }
        // Not beyond the last second.
        return validSeconds.contains(seconds) && !validSeconds.contains(seconds + 1)
            ? (seconds, 999_999_000) : (seconds + 1, 0)
    }
}

extension Timestamp: CustomStringConvertible {
    /// The instant in RFC 3339, with as many fractional digits as necessary.
    public var description: String {
        var days = seconds / 86400
        var rest = seconds % 86400
        if rest < 0 {
            days -= 1
            rest += 86400
        }
        let date = Self.civil(days)
        let time = [rest / 3600, rest / 60 % 60, rest % 60].map { Self.padded($0, 2) }
        var text = "\(Self.padded(date.year, 4))-\(Self.padded(date.month, 2))"
        text += "-\(Self.padded(date.day, 2))T\(time.joined(separator: ":"))"
        if nanoseconds > 0 {
            let digits = nanoseconds % 1_000_000 == 0 ? 3 : nanoseconds % 1000 == 0 ? 6 : 9
            text += "." + Self.padded(Int64(nanoseconds), 9).prefix(digits)
        }
        return text + "Z"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// The Gregorian date of a day counted from 1970-01-01, by eras of 400 years from a 1 March.
    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let ofEra = shifted - era * 146_097
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * ofYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, ofYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Timestamp {
    /// Parses RFC 3339 with a time and a zone, `2026-01-31T12:00:00.5+01:00`; nil for any other
    /// text, days that do not exist, more than nine fractional digits, and years outside 0001 to
    /// 9999.
    public init?(rfc3339 text: String) {
        var rest = text.utf8[...]
        guard text.utf8.count >= 20, let year = rest.number(4), rest.take("-"),
            let month = rest.number(2), rest.take("-"), let day = rest.number(2),
            rest.take("T") || rest.take("t"), let hour = rest.number(2), rest.take(":"),
            let minute = rest.number(2), rest.take(":"), let second = rest.number(2)
        else { return nil }
        guard (1...12).contains(month), day >= 1, day <= Self.days(of: month, year),
            hour < 24, minute < 60, second < 60
        else { return nil }
        var nanoseconds: Int64 = 0
        if rest.take(".") {
            var digits = 0
            while let digit = rest.number(1) {
                guard digits < 9 else { return nil }
                nanoseconds = nanoseconds * 10 + digit
                digits += 1
            }
            guard digits > 0 else { return nil }
            for _ in digits..<9 { nanoseconds *= 10 }
        }
        var offset: Int64 = 0
        if !(rest.take("Z") || rest.take("z")) {
            let isEast = rest.take("+")
            guard isEast || rest.take("-"), let hours = rest.number(2), rest.take(":"),
                let minutes = rest.number(2), hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 3600 + minutes * 60) * (isEast ? 1 : -1)
        }
        guard rest.isEmpty else { return nil }
        let seconds =
            Self.dayNumber(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
        guard
            let time = Timestamp(exactSeconds: seconds, nanoseconds: Int32(nanoseconds))
        else { return nil }
        self = time
    }

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970-01-01 in the Gregorian calendar, counted from a 1 March so that the leap
    /// day is a year's last.
    private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shiftedYear = month > 2 ? year : year - 1
        let shiftedMonth = month > 2 ? month - 3 : month + 9
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let ofEra = shiftedYear - era * 400
        let ofYear = (153 * shiftedMonth + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}

extension Substring.UTF8View {
    /// Removes a number with a count of digits.
    fileprivate mutating func number(_ digits: Int) -> Int64? {
        var rest = self
        var number: Int64 = 0
        for _ in 0..<digits {
            guard let byte = rest.popFirst(), byte >= UInt8(ascii: "0"),
                byte <= UInt8(ascii: "9")
            else { return nil }
            number = number * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        self = rest
        return number
    }

    /// Removes a character if it comes next.
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }
}
