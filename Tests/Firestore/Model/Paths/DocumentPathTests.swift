import LarderModel
import Testing

@Suite("Document paths")
struct DocumentPathTests {
    @Test("slashes at the ends are ignored")
    func outerSlashes() throws {
        #expect(try DocumentPath("/cities/SF/").string == "cities/SF")
    }

    @Test(
        "forbidden paths are refused",
        arguments: [
            "", "/", "//", "cities", "cities/SF/landmarks", "cities//SF", "//cities/SF",
            "cities/SF//", "cities/.", "cities/..", "cities/__reserved__", "__x__/SF",
            "cities/_____", "__id7__/SF", "a/b/__id7__/SF",
        ])
    func forbidden(text: String) throws {
        let error = #expect(throws: LarderError.self) { try DocumentPath(text) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.condition == .invalidName)
    }

    @Test("names may be long, up to Firestore's limits")
    func limits() throws {
        let longest = String(repeating: "x", count: 1500)
        #expect(try DocumentPath("a/" + longest).id == longest)
        #expect(throws: LarderError.self) { try DocumentPath("a/x" + longest) }
        #expect(throws: LarderError.self) {
            try DocumentPath(Array(repeating: longest, count: 6).joined(separator: "/"))
        }
        #expect(throws: LarderError.self) {
            try DocumentPath(Array(repeating: "a", count: 202).joined(separator: "/"))
        }
        #expect(
            try DocumentPath(Array(repeating: "a", count: 200).joined(separator: "/"))
                .segments.count == 200)
    }

    @Test("numeric ids come first and by number, the rest by UTF-8 bytes")
    func order() throws {
        let ids = [
            "__id-9223372036854775808__", "__id-7__", "__id7__", "__id10__",
            "__id9223372036854775807__", "_", "__", "__id", "__id7_", "a", "é", "\u{ffff}",
            "\u{10000}",
        ]
        let paths = try ids.map { try DocumentPath("c/" + $0) }
        for (left, l) in paths.enumerated() {
            for (right, r) in paths.enumerated() {
                #expect((l < r) == (left < right), "\(l) and \(r)")
                #expect((l == r) == (left == right))
            }
        }
    }

    @Test("the first segments that differ decide, then the number of segments")
    func orderOfDepths() throws {
        let paths = try [
            "a/__id7__", "a/__id7__/b/c", "a/__id10__", "a/__id7_", "a/b", "a/b/__/d",
            "a/b/c/d", "a/b/c/e", "a/b-", "a/b-/c/d", "a/ba", "a/longer-than-eight",
            "a/longer-than-nine", "a-b/c", "ab/c",
        ].map { try DocumentPath($0) }
        for (left, l) in paths.enumerated() {
            for (right, r) in paths.enumerated() {
                #expect((l < r) == (left < right), "\(l) and \(r)")
            }
        }
    }

    @Test(
        "numeric IDs have one spelling; others, 0 and numbers outside of Int64 are reserved",
        arguments: [
            "", "abc", "-", "0", "-0", "+0", "00", "07", "007", "-01", "+7", "1a", "1.0", "1e3",
            "0x1",
            " 1", "1 ", "٣", "9223372036854775808", "-9223372036854775809", "99999999999999999999",
        ])
    func oddNumericIDs(number: String) throws {
        for path in ["c/__id\(number)__", "c/__id\(number)__/d/e", "c/d/e/__id\(number)__"] {
            let error = #expect(throws: LarderError.self) { try DocumentPath(path) }
            #expect(error?.condition == .invalidName)
        }
        let cities = try CollectionPath("cities")
        #expect(throws: LarderError.self) { try cities.document("__id\(number)__") }
        #expect(throws: LarderError.self) { try DocumentPath("__id\(number)__", below: cities) }
    }

    @Test("numeric IDs name documents, not collections")
    func numericIDs() throws {
        let cities = try CollectionPath("cities")
        for number in [1, -1, 10, Int64.max, Int64.min] {
            let id = "__id\(number)__"
            #expect(try DocumentPath(id, below: cities).id == id)
            #expect(try DocumentPath(id + "/x/" + id, below: cities).id == id)
            #expect(throws: LarderError.self) { try CollectionPath(id) }
            #expect(throws: LarderError.self) { try DocumentPath("c/d").collection(id) }
        }
        for id in ["_", "__", "___", "____", "__id7_", "_id7__", "__id7__x"] {
            #expect(try cities.document(id).id == id)
            #expect(try CollectionPath(id).id == id)
        }
    }

    @Test("a store may have the numeric IDs of earlier versions, behind the canonical ones")
    func storedNumericIDs() throws {
        let paths = try [
            "__id3__/__id0__", "__id3__/__id007__/__id7__/a", "c/__id-0__", "c/__id0__",
            "c/__id7__",
            "c/__id007__", "c/__id8__",
        ].map { try DocumentPath(stored: $0) }
        #expect(paths[3] < paths[2])
        #expect(paths[4] < paths[5])
        #expect(paths[5] < paths[6])
        #expect(throws: LarderError.self) { try DocumentPath(stored: "c/__id__") }
    }

    @Test("a path that begins another is below it")
    func prefixesAreBelow() throws {
        #expect(try DocumentPath("a/b") < DocumentPath("a/b/c/d"))
        #expect(try DocumentPath("a/b/c/d") < DocumentPath("a-b/c"))
    }

    @Test("parents, ids and collections fit together")
    func navigation() throws {
        let path = try DocumentPath("cities/SF/landmarks/bridge")
        #expect(path.id == "bridge")
        #expect(path.collectionGroup == "landmarks")
        #expect(path.parent == (try CollectionPath("cities/SF/landmarks")))
        #expect(path.parent.parent == (try DocumentPath("cities/SF")))
        #expect(try path.collection("photos").string == "cities/SF/landmarks/bridge/photos")
        #expect(path.isBelow(try CollectionPath("cities")))
        #expect(!path.isBelow(try CollectionPath("citi")))
        #expect(path.segments == ["cities", "SF", "landmarks", "bridge"])
    }

    @Test("an id with a slash, or none, is refused")
    func badIDs() throws {
        let path = try DocumentPath("cities/SF")
        for id in ["", "a/b", "a/", "/", "."] {
            #expect(throws: LarderError.self) { try path.collection(id) }
            #expect(throws: LarderError.self) { try path.parent.document(id) }
        }
    }

    @Test("a path below a collection is a document's, and is called so where it is not")
    func belowCollection() throws {
        let cities = try CollectionPath("cities")
        #expect(try DocumentPath("SF", below: cities).string == "cities/SF")
        #expect(
            try DocumentPath("/SF/landmarks/bridge/", below: cities).string
                == "cities/SF/landmarks/bridge")
        for (text, words) in [
            ("", "the relative document path '' is empty"),
            ("a/b", "the relative document path 'a/b' has 2 segments"),
        ] {
            let error = #expect(throws: LarderError.self) {
                try DocumentPath(text, below: cities)
            }
            #expect(error?.message.contains(words) == true, "\(text)")
        }
    }
}
