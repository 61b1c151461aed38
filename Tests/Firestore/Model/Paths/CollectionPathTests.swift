import LarderModel
import Testing

@Suite("Collection paths")
struct CollectionPathTests {
    @Test("a collection path with an even number of segments is refused")
    func parity() throws {
        #expect(try CollectionPath("a/b/c").id == "c")
        let two = #expect(throws: LarderError.self) { try CollectionPath("a/b") }
        #expect(two?.message.contains("has 2 segments, which is not an odd number") == true)
        let one = #expect(throws: LarderError.self) { try DocumentPath("a") }
        #expect(one?.message.contains("has 1 segment, which is not an even number") == true)
        #expect(throws: LarderError.self) { try CollectionPath("") }
    }

    @Test("a collection at the root has no parent")
    func parents() throws {
        #expect(try CollectionPath("a").parent == nil)
        #expect(try CollectionPath("a/b/c").parent == (try DocumentPath("a/b")))
    }

    @Test("a collection contains its own documents only")
    func contains() throws {
        let cities = try CollectionPath("cities")
        #expect(cities.contains(try cities.document("SF")))
        #expect(!cities.contains(try DocumentPath("cities/SF/landmarks/bridge")))
    }

    @Test("new ids are twenty letters and digits, all different")
    func newIDs() throws {
        let ids = (0..<1000).map { _ in CollectionPath.newDocumentID() }
        #expect(Set(ids).count == 1000)
        for id in ids {
            #expect(id.utf8.count == 20)
            #expect(id.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) })
        }
        #expect(try CollectionPath("a").newDocument().parent == (try CollectionPath("a")))
    }
}
