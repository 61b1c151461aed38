import Foundation
import LarderModel
import Testing

@Suite("Values of Foundation's types")
struct ValueFoundationTests {
    @Test("bytes are copied from Data, and none are as good as empty")
    func data() {
        #expect(Value(bytes: Data([1, 2, 255])) == .bytes([1, 2, 255]))
        #expect(Value(bytes: Data()) == .bytes([]))
    }

    @Test("1.1: a date is cut to microseconds")
    func dates() throws {
        let date = Date(timeIntervalSince1970: 1_763_719_017.123_456_7)
        guard case .timestamp(let timestamp) = try Value(date: date) else {
            Issue.record("a date is no timestamp")
            return
        }
        #expect(timestamp.nanoseconds.isMultiple(of: 1000))
        #expect(abs(timestamp.dateValue().timeIntervalSince(date)) < 2e-6)
        #expect(throws: LarderError.self) { try Value(date: .distantFuture + 1e12) }
    }
}
