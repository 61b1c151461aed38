import LarderModel
import Testing

@Suite("Field masks")
struct MutationTests {
    @Test("a map's mask has its leaves; empty maps and arrays are leaves")
    func leaves() throws {
        let mask = FieldMask(leavesOf: ["a": ["b": 1, "c": [:]], "d": [["x": 1]], "e": [:]])
        #expect(mask.paths == (try ["a.b", "a.c", "d", "e"].map { try FieldPath(dotted: $0) }))
    }

    @Test("a mask covers its paths and all paths below")
    func covers() throws {
        let mask = FieldMask([try FieldPath("a", "b"), try FieldPath("c")])
        #expect(mask.covers(try FieldPath("a", "b")))
        #expect(mask.covers(try FieldPath("c", "d")))
        #expect(!mask.covers(try FieldPath("a")))
        #expect(!mask.covers(try FieldPath("b")))
    }

    @Test("paths come in order and once")
    func order() throws {
        let (a, b) = (try FieldPath("a"), try FieldPath("b"))
        #expect(FieldMask([b, a, b]).paths == [a, b])
    }
}
