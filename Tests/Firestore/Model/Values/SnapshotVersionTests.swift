import Foundation
import LarderModel
import LarderTestSupport
import Testing

@Suite("Snapshot versions")
struct SnapshotVersionTests {
    @Test("no version is below every other one, also below those before 1970")
    func noneIsBelow() {
        let early = SnapshotVersion(Timestamp(seconds: -5, nanoseconds: 0))
        let late = SnapshotVersion(Timestamp(seconds: 5, nanoseconds: 0))
        #expect(SnapshotVersion.none < early)
        #expect(early < late)
        #expect(!(early < .none))
        #expect(!(SnapshotVersion.none < .none))
        #expect(SnapshotVersion.none.isNone && !late.isNone)
        #expect("\(SnapshotVersion.none), \(late)" == "none, 1970-01-01T00:00:05Z")
    }
}

@Suite("Timestamps")
struct TimestampTests {
    @Test("microseconds survive a conversion to a date and back")
    func dates() {
        var random = SeededRandom()
        var different: [Timestamp] = []
        for _ in 0..<20_000 {
            // From 1901 to 2106: beyond, dates have no whole microseconds.
            let time = Timestamp(
                seconds: Int64(random.below(6_442_450_944)) - 2_147_483_648,
                nanoseconds: Int32(random.below(1_000_000)) * 1_000)
            if Timestamp(date: time.dateValue()) != time { different.append(time) }
        }
        #expect(different.isEmpty, "\(different.prefix(3)) \(random)")
        #expect(Timestamp(date: Date(timeIntervalSince1970: -0.000_000_1)).seconds == 0)
    }

    @Test("seconds outside the years 0001 to 9999 and odd nanoseconds are refused")
    func ranges() throws {
        let range = Timestamp.validSeconds
        #expect(
            try Timestamp(validatingSeconds: range.lowerBound, nanoseconds: 0).seconds
                == range.lowerBound)
        for (seconds, nanoseconds) in [
            (range.lowerBound - 1, Int32(0)), (range.upperBound + 1, 0), (0, -1),
            (0, 1_000_000_000), (.max, 0), (.min, 0),
        ] {
            let error = #expect(throws: LarderError.self) {
                try Timestamp(validatingSeconds: seconds, nanoseconds: nanoseconds)
            }
            #expect(error?.kind == .invalidArgument)
        }
    }

    @Test("Firestore stores timestamps truncated to microseconds")
    func truncation() {
        let timestamp = Timestamp(seconds: -5, nanoseconds: 123_456_789)
        #expect(
            timestamp.truncatedToMicroseconds
                == Timestamp(seconds: -5, nanoseconds: 123_456_000))
    }

    @Test("dates before 1970 keep nanoseconds above 0")
    func datesBeforeTheEpoch() {
        let timestamp = Timestamp(date: Date(timeIntervalSince1970: -0.25))
        #expect(timestamp == Timestamp(seconds: -1, nanoseconds: 750_000_000))
        #expect(timestamp.dateValue() == Date(timeIntervalSince1970: -0.25))
    }

    @Test("dates that are no timestamps are refused")
    func datesOutOfRange() {
        for interval in [Double.infinity, -.infinity, .nan, 1e300, 253_402_300_800] {
            #expect(throws: LarderError.self) {
                try Timestamp(validating: Date(timeIntervalSince1970: interval))
            }
        }
    }

    @Test("a date is preserved within a tenth of a microsecond")
    func dateRoundTrip() throws {
        let date = Date(timeIntervalSince1970: 1_763_719_017.123_456)
        let timestamp = try Timestamp(validating: date)
        #expect(abs(timestamp.dateValue().timeIntervalSince(date)) < 2e-7)
    }

    @Test("the order is by seconds, then by nanoseconds")
    func order() {
        #expect(Timestamp(seconds: 1, nanoseconds: 9) < Timestamp(seconds: 2, nanoseconds: 0))
        #expect(Timestamp(seconds: 2, nanoseconds: 0) < Timestamp(seconds: 2, nanoseconds: 1))
    }

    @Test(
        "the description is RFC 3339",
        arguments: [
            (Int64(0), Int32(0), "1970-01-01T00:00:00Z"),
            (-1, 999_999_999, "1969-12-31T23:59:59.999999999Z"),
            (951_782_400, 120_000_000, "2000-02-29T00:00:00.120Z"),
            (1_763_719_017, 123_456_000, "2025-11-21T09:56:57.123456Z"),
            (-62_135_596_800, 0, "0001-01-01T00:00:00Z"),
            (253_402_300_799, 0, "9999-12-31T23:59:59Z"),
        ])
    func description(seconds: Int64, nanoseconds: Int32, text: String) {
        #expect(Timestamp(seconds: seconds, nanoseconds: nanoseconds).description == text)
    }

    @Test("RFC 3339 is read strictly")
    func rfc3339() {
        let right: [(String, Int64, Int32)] = [
            ("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59.5Z", -1, 500_000_000),
            ("2000-02-29T00:00:00Z", 951_782_400, 0),
            ("2026-01-31t12:00:00.123456789z", 1_769_860_800, 123_456_789),
            ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
            ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
            ("1970-01-01T00:00:00-00:30", 1800, 0),
        ]
        for (text, seconds, nanoseconds) in right {
            #expect(
                Timestamp(rfc3339: text)
                    == Timestamp(seconds: seconds, nanoseconds: nanoseconds), "\(text)")
        }
        for wrong in [
            "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z",
            "1970-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "1970-04-31T00:00:00Z",
            "1970-13-01T00:00:00Z", "1970-00-01T00:00:00Z", "1970-01-00T00:00:00Z",
            "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:60Z",
            "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00.0000000001Z", "1970-01-01T00:00:00Zx",
            "1970-01-01T00:00:00+0100", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00",
            "+970-01-01T00:00:00Z", "1970-01-01T00:00:00.5", "１970-01-01T00:00:00Z",
        ] {
            #expect(Timestamp(rfc3339: wrong) == nil, "\(wrong)")
        }
    }
}
