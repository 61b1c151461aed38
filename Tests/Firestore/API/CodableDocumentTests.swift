import Foundation
import Testing

@testable import Larder

private struct City: Codable, Hashable {
    @DocumentID var id: String?
    @DocumentID var reference: DocumentReference?
    var name: String
    var twin: DocumentReference?
}

@Suite("9.9: @DocumentID and references in Codable types")
struct CodableDocumentTests {
    @Test("@DocumentID takes id and reference from the document, whatever the data says")
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

    @Test("Data that is no reference is a mismatch, null is nil")
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
