/// How long a call may take, as the header `grpc-timeout` says it: a number of up to eight digits,
/// and a unit.
///
/// From the protocol's specification, "gRPC over HTTP2".
package struct CallTimeout: Sendable {
    /// The header's name.
    package static let headerName = "grpc-timeout"

    private static let maxCount: Int64 = 99_999_999
    private static let units: [(letter: Character, duration: Duration)] = [
        ("n", .nanoseconds(1)), ("u", .microseconds(1)), ("m", .milliseconds(1)),
        ("S", .seconds(1)), ("M", .seconds(60)), ("H", .seconds(3600)),
    ]

    /// The time.
    package let duration: Duration

    /// A time; a negative one is none.
    package init(_ duration: Duration) {
        self.duration = max(duration, .zero)
    }

    /// Reads a header; nil where it does not say a time.
    package init?(header: some StringProtocol) {
        let digits = header.dropLast()
        guard let letter = header.last, 1...8 ~= digits.utf8.count,
            digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let count = Int(digits),
            let unit = Self.units.first(where: { $0.letter == letter })
        else { return nil }
        duration = unit.duration * count
    }

    /// The header, with the finest unit that has room for it; a little more where it does not fit.
    package var header: String {
        for (letter, unit) in Self.units where duration <= unit * Int(Self.maxCount) {
            let count = duration / unit
            return "\(Int64(count.rounded(.up)))\(letter)"
        }
        return "\(Self.maxCount)H"
    }
}
