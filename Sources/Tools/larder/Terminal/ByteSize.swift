import ArgumentParser

/// A number of bytes, as people write and read it.
struct ByteSize: Equatable {
    /// The number.
    var bytes: Int64

    /// A size in bytes.
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
    /// Reads "1048576", "64MiB", "64 MB", "1.5g": units with `i` or a bare letter are of 1,024,
    /// with `B` alone of 1,000.
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
