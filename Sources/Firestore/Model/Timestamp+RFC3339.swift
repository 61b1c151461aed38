extension Timestamp {
    /// The instant of an RFC 3339 text with a time and a zone, `2026-01-31T12:00:00.5+01:00`;
    /// nil for any other text, for days that do not exist, more than nine digits of a fraction
    /// and years outside 0001 to 9999.
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
            let time = try? Timestamp(
                validatingSeconds: seconds, nanoseconds: Int32(nanoseconds))
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
    /// Takes a number of so many digits away.
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

    /// Takes a character away where it is the next one.
    fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }
}
