import LarderWire
import Testing

@Suite("The time that a call may take, in a header")
struct CallTimeoutTests {
    @Test(
        "is read in each unit",
        arguments: [
            ("1n", .nanoseconds(1)), ("20u", .microseconds(20)), ("60000m", .seconds(60)),
            ("7S", .seconds(7)), ("99999999M", .seconds(60 * 99_999_999)),
            ("99999999H", .seconds(3600 * 99_999_999)), ("0S", .zero), ("00000007S", .seconds(7)),
        ] as [(String, Duration)])
    func reads(header: String, duration: Duration) {
        #expect(CallTimeout(header: header)?.duration == duration)
    }

    @Test(
        "is none where it is not a number and a unit",
        arguments: [
            "", "1", "S", "1s", "-1S", "+1S", "1.5S", "100000000S", " 1S", "1 S", "١S", "1S ",
        ])
    func refuses(header: String) {
        #expect(CallTimeout(header: header) == nil)
    }

    @Test(
        "is written as exactly as there is room for",
        arguments: [
            (.zero, "0n"), (.seconds(-1), "0n"), (.nanoseconds(99_999_999), "99999999n"),
            (.nanoseconds(100_000_001), "100001u"), (.seconds(60), "60000000u"),
            (.seconds(86_400), "86400000m"), (.seconds(100_000), "100000S"),
            (.seconds(Int64.max), "99999999H"),
        ] as [(Duration, String)])
    func writes(duration: Duration, header: String) {
        #expect(CallTimeout(duration).header == header)
    }
}
