import Foundation
import LarderModel
import Testing

@testable import Larder

private struct City: Codable, Hashable {
    @DocumentID var id: String?
    @DocumentID var reference: DocumentReference?
    var name: String
    var twin: DocumentReference?
}

@Suite("@DocumentID and references in Codable types")
struct DocumentIDTests {
    @Test("@DocumentID takes ID and reference from the document and ignores the data")
    func decoding() throws {
        let document = try memoryDatabase().document("cities/bern")
        let city = try Firestore.Decoder().decode(
            City.self, from: ["name": "Bern", "id": 5, "twin": document], in: document)
        #expect(city.id == "bern")
        #expect(city.reference == document)
        #expect(city.twin == document)
    }

    @Test("@DocumentID is never encoded, references are as they are")
    func encoding() throws {
        let document = try memoryDatabase().document("cities/bern")
        let city = City(id: "x", reference: document, name: "Bern", twin: document)
        let data = try Firestore.Encoder().encode(city)
        #expect(Set(data.keys) == ["name", "twin"])
        #expect(data["twin"] as? DocumentReference == document)
    }

    @Test("@DocumentID without a document, or with other coders, is an NSError")
    func withoutADocument() throws {
        #expect(throws: FirestoreDecodingError.self) {
            try Firestore.Decoder().decode(City.self, from: ["name": "Bern"])
        }
        let json = Data(#"{"name": "Bern", "id": "x"}"#.utf8)
        #expect(throws: FirestoreDecodingError.self) {
            try JSONDecoder().decode(DocumentID<String>.self, from: Data("5".utf8))
        }
        #expect(throws: (any Error).self) { try JSONDecoder().decode(City.self, from: json) }
        do {
            _ = try JSONEncoder().encode(DocumentID(wrappedValue: "x"))
            Issue.record("nothing was thrown")
        } catch let error as NSError {
            #expect(error.domain == "FIRFirestoreErrorDomain")
        }
        let document = try memoryDatabase().document("cities/bern")
        #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode([document]) }
        #expect(throws: FirestoreDecodingError.self) {
            try JSONDecoder().decode([DocumentReference].self, from: Data("[1]".utf8))
        }
    }

    @Test("Data other than a reference is a mismatch, null is nil")
    func mismatch() throws {
        let document = try memoryDatabase().document("cities/bern")
        let decoder = Firestore.Decoder()
        #expect(throws: DecodingError.self) {
            try decoder.decode(City.self, from: ["name": "Bern", "twin": "cities/x"], in: document)
        }
        let city = try decoder.decode(
            City.self, from: ["name": "Bern", "twin": NSNull()], in: document)
        #expect(city.twin == nil)
    }
}

@Suite("@ServerTimestamp and @ExplicitNull")
struct PropertyWrappersTests {
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
