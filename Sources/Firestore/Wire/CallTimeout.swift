/// A call's time limit in the header `grpc-timeout`: up to eight digits and a unit.
///
/// Specified in "gRPC over HTTP2".
package struct CallTimeout: Sendable {
    package static let headerName = "grpc-timeout"

    private static let maxCount: Int64 = 99_999_999
    private static let units: [(letter: Character, duration: Duration)] = [
        ("n", .nanoseconds(1)), ("u", .microseconds(1)), ("m", .milliseconds(1)),
        ("S", .seconds(1)), ("M", .seconds(60)), ("H", .seconds(3600)),
    ]

    package let duration: Duration

    /// Creates a timeout; negative durations count as zero.
    package init(_ duration: Duration) {
        self.duration = max(duration, .zero)
    }

    /// Parses a header; nil if it is malformed.
    package init?(header: some StringProtocol) {
        let digits = header.dropLast()
        guard let letter = header.last, 1...8 ~= digits.utf8.count,
            digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let count = Int(digits),
            let unit = Self.units.first(where: { $0.letter == letter })
        else { return nil }
        duration = unit.duration * count
    }

    /// The header's value in the finest unit that fits, rounded up.
    package var header: String {
        for (letter, unit) in Self.units where duration <= unit * Int(Self.maxCount) {
            let count = duration / unit
            return "\(Int64(count.rounded(.up)))\(letter)"
        }
        return "\(Self.maxCount)H"
    }
}
