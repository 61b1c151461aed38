import LarderModel
import LarderTestSupport
import Testing

@Suite("Patches")
struct RecordPatchTests {
    private func patch(_ base: MapValue, _ source: MapValue, _ mask: [[String]]) throws -> MapValue
    {
        try Record(base).patched(
            with: Record(source), mask: FieldMask(try mask.map { try FieldPath($0) })
        ).fields
    }

    @Test("1.9: fields of the mask are set, or deleted where the source has none")
    func setsAndDeletes() throws {
        #expect(try patch(["a": 1, "b": 2], ["a": 3, "c": 4], [["a"], ["b"]]) == ["a": 3])
    }

    @Test("1.9: maps on the way are made, other values on the way are replaced by maps")
    func intermediates() throws {
        #expect(
            try patch(["a": 1], ["a": ["b": 2], "c": ["d": 3]], [["a", "b"], ["c", "d"]])
                == ["a": ["b": 2], "c": ["d": 3]])
    }

    @Test("1.9: a delete below a missing or non-map value makes the maps on the way")
    func deletesBelowNothing() throws {
        #expect(
            try patch(["a": 1], [:], [["a", "b"], ["c", "d", "e"]])
                == ["a": [:], "c": ["d": [:]]])
    }

    @Test("random patches agree with setting and deleting in maps")
    func randomPatches() throws {
        var random = SeededRandom()
        for _ in 0..<3000 {
            let (base, source) = (random.map(), random.map())
            let paths = try (0..<random.below(4)).map { _ in
                try FieldPath((0...random.below(3)).map { _ in random.name() })
            }
            var expected = Value.map(base)
            for path in paths {
                if paths.contains(where: { $0 != path && $0.isPrefix(of: path) }) { continue }
                expected = applied(expected, path.segments[...], lookUp(source, path.segments[...]))
            }
            let patched = try Record(base).patched(
                with: Record(source), mask: FieldMask(paths))
            guard Value.map(patched.fields) == expected else {
                Issue.record("\(base), \(source), \(paths): \(patched), not \(expected); \(random)")
                return
            }
        }
    }

    private func lookUp(_ map: MapValue, _ names: ArraySlice<String>) -> Value? {
        guard let name = names.first, let value = map[name] else { return nil }
        guard names.count > 1 else { return value }
        guard case .map(let inner) = value else { return nil }
        return lookUp(inner, names.dropFirst())
    }

    private func applied(_ value: Value?, _ names: ArraySlice<String>, _ new: Value?) -> Value {
        guard let name = names.first else { return new ?? .null }
        var map = MapValue()
        if case .map(let present) = value { map = present }
        map[name] = names.count == 1 ? new : applied(map[name], names.dropFirst(), new)
        return .map(map)
    }
}
