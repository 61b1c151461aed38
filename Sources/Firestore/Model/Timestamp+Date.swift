public import Foundation

extension Timestamp {
    /// The instant of a date.
    ///
    /// A `Date` counts in 2^-52 parts since 2001: about 0.1 microseconds today. Digits below
    /// that are not meaningful; ``truncatedToMicroseconds`` is what Firestore keeps.
    ///
    /// Stops the program for a date outside the years 0001 to 9999, as Apple's SDK does; use
    /// ``init(validating:)`` where that can happen.
    public init(date: Date) {
        let parts = Self.split(date)
        precondition(
            parts.map { Self.validSeconds.contains($0.seconds) } ?? false,
            "A timestamp lies between years 0001 and 9999.")
        self.init(unchecked: parts?.seconds ?? 0, parts?.nanoseconds ?? 0)
    }

    /// The instant of a date that may be out of range.
    ///
    /// - Throws: `invalidArgument` for a date outside the years 0001 to 9999.
    public init(validating date: Date) throws(LarderError) {
        guard let parts = Self.split(date) else {
            throw .invalidArgument("the date \(date.timeIntervalSince1970) is no timestamp")
        }
        try self.init(validatingSeconds: parts.seconds, nanoseconds: parts.nanoseconds)
    }

    /// This moment, to the system clock's resolution.
    public static func now() -> Timestamp {
        Timestamp(date: Date())
    }

    /// The nearest `Date`, exact to about 0.1 microseconds today.
    public func dateValue() -> Date {
        Date(timeIntervalSince1970: Double(seconds) + Double(nanoseconds) / 1e9)
    }

    /// Seconds downwards and the nanoseconds after them; nil where they are no Int64.
    private static func split(_ date: Date) -> (seconds: Int64, nanoseconds: Int32)? {
        let interval = date.timeIntervalSince1970
        guard let seconds = Int64(exactly: interval.rounded(.down)) else { return nil }
        let nanoseconds = ((interval - Double(seconds)) * 1e9).rounded(.down)
        return (seconds, Int32(min(max(nanoseconds, 0), 999_999_999)))
    }
}

extension Timestamp: CustomStringConvertible {
    /// The instant in RFC 3339, with as many digits of its fraction as it needs.
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
