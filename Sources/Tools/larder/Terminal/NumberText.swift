import ArgumentParser

/// Formatting of numbers.
enum NumberText {
    /// An integer with commas between thousands.
    static func count(_ number: Int64) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0 && (digits.count - position) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// An integer with commas between thousands.
    static func count(_ number: Int) -> String {
        count(Int64(number))
    }

    /// A number of things: "1 document", "2,000 documents".
    static func things(_ number: Int64, _ one: String, _ many: String? = nil) -> String {
        "\(count(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// A number with a given count of digits after the point.
    static func fixed(_ number: Double, digits: Int) -> String {
        guard number.isFinite, number.magnitude < 1e15 else { return "\(number)" }
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int64((number.magnitude * scale).rounded())
        let sign = number < 0 && scaled > 0 ? "-" : ""
        guard digits > 0 else { return "\(sign)\(scaled)" }
        let fraction = String(scaled % Int64(scale))
        let padding = String(repeating: "0", count: digits - fraction.count)
        return "\(sign)\(scaled / Int64(scale)).\(padding)\(fraction)"
    }

    /// A share as "37.5 %"; a dash where the whole is nothing.
    static func share(_ part: Int64, of whole: Int64) -> String {
        whole > 0 ? fixed(Double(part) * 100 / Double(whole), digits: 1) + " %" : "-"
    }

    /// A duration: "850 us", "12 ms", "3.2 s", "2:05", "1:02:05".
    static func duration(seconds: Double) -> String {
        if seconds < 0.001 { return "\(Int64((max(0, seconds) * 1e6).rounded())) us" }
        if seconds < 1 { return "\(Int64((seconds * 1000).rounded())) ms" }
        if seconds < 60 { return fixed(seconds, digits: 1) + " s" }
        guard seconds < 1e9 else { return "?" }
        let whole = Int64(seconds.rounded())
        let tail = padded(whole % 60)
        return whole < 3600
            ? "\(whole / 60):\(tail)" : "\(whole / 3600):\(padded(whole / 60 % 60)):\(tail)"
    }

    private static func padded(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}

/// A size in bytes with its text representation.
struct ByteSize: Equatable {
    var bytes: Int64

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    /// The size with a unit of 1,024: "812 B", "1.5 KiB", "64 MiB".
    var text: String {
        let magnitude = bytes.magnitude
        if magnitude < 1024 { return "\(bytes) B" }
        var scaled = Double(magnitude)
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
        repeat {
            scaled /= 1024
            unit += 1
        } while scaled >= 1023.95 && unit < units.count
        let tenths = Int64((scaled * 10).rounded())
        let digits =
            tenths % 10 == 0 || tenths >= 1000
            ? "\((tenths + 5) / 10)" : "\(tenths / 10).\(tenths % 10)"
        return "\(bytes < 0 ? "-" : "")\(digits) \(units[unit - 1])"
    }
}

extension ByteSize: ExpressibleByArgument {
    /// Parses "1048576", "64MiB", "64 MB", "1.5g": units with `i` or a single letter are powers of
    /// 1,024, others of 1,000.
    init?(argument: String) {
        let text = argument.trimmingSpaces.lowercased()
        let number = text.prefix { "0123456789.".contains($0) }
        let unit = String(text.dropFirst(number.count)).trimmingSpaces
        guard let value = Double(number), value.isFinite, number.first != "." else { return nil }
        let scale: Double
        switch unit {
        case "", "b": scale = 1
        case "k", "kib": scale = 1024
        case "m", "mib": scale = 1_048_576
        case "g", "gib": scale = 1_073_741_824
        case "t", "tib": scale = 1_099_511_627_776
        case "kb": scale = 1e3
        case "mb": scale = 1e6
        case "gb": scale = 1e9
        case "tb": scale = 1e12
        default: return nil
        }
        guard let bytes = Int64(exactly: (value * scale).rounded()) else { return nil }
        self.init(bytes)
    }
}

extension String {
    /// The text without blanks at its ends.
    var trimmingSpaces: String {
        var rest = Substring(self)
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
