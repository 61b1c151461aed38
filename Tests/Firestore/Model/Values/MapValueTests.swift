import LarderModel
import Testing

@Suite("Maps")
struct MapValueTests {
    @Test("entries are in UTF-8 order of their names, regardless of insertion order")
    func entriesAreInOrder() {
        let map: MapValue = ["b": 1, "\u{10000}": 2, "a": 3, "\u{ffff}": 4, "aa": 5]
        #expect(map.names == ["a", "aa", "b", "\u{ffff}", "\u{10000}"])
    }

    @Test("the last of equal names wins")
    func lastWins() {
        let pairs: [MapValue.Element] = [("a", 1), ("b", 2), ("a", 3)]
        #expect(MapValue(pairs) == ["a": 3, "b": 2])
        #expect(MapValue(["a": 1, "b": 2] as [String: Value]) == ["a": 1, "b": 2])
    }

    @Test("names that differ in their bytes alone are two fields")
    func composedAndDecomposedNames() {
        let map: MapValue = ["é": 1, "e\u{301}": 2]
        #expect(map.count == 2)
        #expect(map["é"] == 1)
        #expect(map["e\u{301}"] == 2)
    }

    @Test("setting a name adds, replaces or removes its value")
    func setting() {
        var map = MapValue()
        map["b"] = 1
        map["a"] = 2
        map["b"] = 3
        map["c"] = nil
        #expect(map == ["a": 2, "b": 3])
        map["a"] = nil
        #expect(map == ["b": 3])
        #expect(map["a"] == nil)
        #expect(map.dictionary == ["b": 3])
    }
}
