import LarderModel
import LarderTestSupport
import Testing

@Suite("Field paths")
struct FieldPathTests {
    @Test("a path has names, and none of them is empty")
    func emptyNames() {
        #expect(throws: LarderError.self) { try FieldPath([]) }
        #expect(throws: LarderError.self) { try FieldPath("a", "") }
        #expect(throws: LarderError.self) { try FieldPath(String(repeating: "a", count: 1501)) }
    }

    @Test(
        "dotted text with odd characters or empty names is refused",
        arguments: ["", ".", "a.", ".a", "a..b", "a~b", "a*", "a/b", "a[0]", "]"])
    func forbiddenDotted(text: String) {
        let error = #expect(throws: LarderError.self) { try FieldPath(dotted: text) }
        #expect(error?.kind == .invalidArgument)
    }

    @Test("dotted text is split at dots, backticks stay as they are")
    func dotted() throws {
        #expect(try FieldPath(dotted: "a.b`c.d-e").segments == ["a", "b`c", "d-e"])
    }

    @Test(
        "canonical text quotes what is no plain name",
        arguments: [
            (["a"], "a"), (["_a1", "B"], "_a1.B"), (["1a"], "`1a`"), (["a.b", "c"], "`a.b`.c"),
            (["a`b"], "`a\\`b`"), (["a\\b"], "`a\\\\b`"), (["é"], "`é`"), (["a b"], "`a b`"),
            (["__name__"], "__name__"),
        ])
    func canonical(segments: [String], text: String) throws {
        #expect(try FieldPath(segments).canonicalString == text)
        #expect(try FieldPath(canonical: text).segments == segments)
    }

    @Test(
        "malformed canonical text is refused",
        arguments: ["", ".", "a.", ".a", "a..b", "`a", "a`", "a\\", "``", "`a`."])
    func malformedCanonical(text: String) {
        #expect(throws: LarderError.self) { try FieldPath(canonical: text) }
    }

    @Test("random paths come back from their canonical text")
    func canonicalRoundTrip() throws {
        var random = SeededRandom()
        for _ in 0..<2000 {
            let path = try FieldPath((0...random.below(4)).map { _ in random.name() })
            #expect(try FieldPath(canonical: path.canonicalString) == path, "\(random)")
        }
    }

    @Test("the key field is the single name __name__")
    func documentID() throws {
        #expect(FieldPath.documentID.isDocumentID)
        #expect(try FieldPath("__name__").isDocumentID)
        #expect(try !FieldPath("a", "__name__").isDocumentID)
    }

    @Test("names are ordered as segments of paths are")
    func order() throws {
        let paths = try [["__id2__"], ["__id10__"], ["a"], ["a", "b"], ["a.b"], ["b"]].map {
            try FieldPath($0)
        }
        #expect(paths.shuffled().sorted() == paths)
    }

    @Test("parents, appended names and prefixes are consistent")
    func navigation() throws {
        let path = try FieldPath("a", "b")
        #expect(path.parent == (try FieldPath("a")))
        #expect(path.parent?.parent == nil)
        #expect(try path.appending("c") == FieldPath("a", "b", "c"))
        #expect(path.last == "b")
        #expect(path.isPrefix(of: path))
        #expect(try FieldPath("a").isPrefix(of: path))
        #expect(try !FieldPath("b").isPrefix(of: path))
        #expect(try !path.isPrefix(of: FieldPath("a")))
    }
}
