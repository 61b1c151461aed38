import Foundation
import LarderModel
import Testing

@testable import Larder

@Suite("9.9: @ServerTimestamp and @ExplicitNull")
struct CodableWrapperTests {
    private struct Times: Codable, Hashable {
        @ServerTimestamp var date: Date?
        @ServerTimestamp var time: Timestamp?
    }

    private struct Nulls: Codable, Hashable {
        @ExplicitNull var text: String?
        var other: String?
    }

    @Test("@ServerTimestamp: nil is the sentinel, a time is a timestamp")
    func serverTimestamp() throws {
        let time = Timestamp(seconds: 9, nanoseconds: 1000)
        let data = try FirestoreEncoder().encode(Times(date: nil, time: time))
        #expect(data["date"] as? FieldValue == .serverTimestamp())
        #expect(data["time"] as? Timestamp == time)
        let mutation = try Sample.reader.set(data, at: Sample.path())
        #expect(
            mutation.transforms == [
                FieldTransform(try LarderModel.FieldPath("date"), .serverTimestamp)
            ])
    }

    @Test("@ServerTimestamp: null, as a pending one reads, is nil; a missing field is an error")
    func serverTimestampDecoding() throws {
        let time = Timestamp(seconds: 9, nanoseconds: 0)
        let decoder = FirestoreDecoder()
        let value = try decoder.decode(Times.self, from: ["date": time, "time": NSNull()])
        #expect(value == Times(date: time.dateValue(), time: nil))
        #expect(throws: DecodingError.self) { try decoder.decode(Times.self, from: ["date": time]) }
        #expect(throws: DecodingError.self) {
            try decoder.decode(Times.self, from: ["date": 5, "time": time])
        }
    }

    @Test("@ExplicitNull: nil is null in the data, and null is nil")
    func explicitNull() throws {
        let data = try FirestoreEncoder().encode(Nulls(text: nil, other: nil))
        #expect(data["text"] is NSNull)
        #expect(data.count == 1)
        #expect(
            try FirestoreDecoder().decode(Nulls.self, from: data) == Nulls(text: nil, other: nil))
        let full = Nulls(text: "a", other: "b")
        #expect(
            try FirestoreDecoder().decode(Nulls.self, from: FirestoreEncoder().encode(full)) == full
        )
        #expect(throws: DecodingError.self) { try FirestoreDecoder().decode(Nulls.self, from: [:]) }
    }

    @Test("Errors of property wrappers and sentinels are NSErrors")
    func errorsAreNSErrors() {
        do {
            _ = try JSONEncoder().encode(Times(date: nil, time: nil))
            Issue.record("nothing was thrown")
        } catch let error as NSError {
            #expect(error.domain == "FIRFirestoreErrorDomain")
            #expect(error.localizedDescription.contains("serverTimestamp"))
        }
    }
}
