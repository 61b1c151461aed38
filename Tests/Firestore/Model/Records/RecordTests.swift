import LarderModel
import LarderTestSupport
import Testing

@Suite("Records")
struct RecordTests {
    @Test("random fields come back as they were, with the same bytes every time")
    func roundTrip() throws {
        var random = SeededRandom()
        let builder = try RecordBuilder()
        for _ in 0..<5000 {
            let fields = random.map()
            let record = try builder.encode(fields)
            let again = try Record(validating: record.bytes)
            guard record.fields == fields, again == record, again.bytes == record.bytes,
                record.count == fields.count
            else {
                Issue.record("\(fields) came back as \(record.fields); \(random)")
                return
            }
        }
    }

    @Test("the previous value of a pending server timestamp survives encoding and decoding")
    func previousValues() throws {
        let time = Timestamp(seconds: 3, nanoseconds: 4)
        let pending = PendingServerTimestamp(localWriteTime: time, previous: ["a": [1, 2]])
        let record = try Record(["t": .serverTimestamp(pending)])
        guard case .serverTimestamp(let read)? = record[try FieldPath("t")] else {
            Issue.record("the field is \(record)")
            return
        }
        #expect(read.localWriteTime == time)
        #expect(read.previous == ["a": [1, 2]])
    }

    @Test("fields are found by path, also those with dots in their names")
    func lookUp() throws {
        let record = try Record(["a": ["b.c": ["d": 1]], "x": [1, 2], "n": .null])
        #expect(record[try FieldPath("a", "b.c", "d")] == 1)
        #expect(record[try FieldPath("a", "b.c")] == ["d": 1])
        #expect(record[try FieldPath("n")] == .null)
        for missing in [["b"], ["a", "b"], ["a", "b.c", "d", "e"], ["x", "0"]] {
            #expect(record[try FieldPath(missing)] == nil)
        }
    }

    @Test("bytes that are no record are refused")
    func invalidBytes() throws {
        let good = try Record(["a": [1, "x"]]).bytes
        for length in 0..<good.count {
            let error = #expect(throws: LarderError.self) {
                try Record(validating: Array(good.prefix(length)))
            }
            #expect(error?.kind == .invalidArgument)
        }
        #expect(throws: LarderError.self) { try Record(validating: good + [0]) }
    }

    @Test("changed bytes are refused or read as some record, never worse")
    func damagedBytes() throws {
        var random = SeededRandom()
        let good = try Record(random.map()).bytes
        for _ in 0..<3000 {
            var bytes = good
            bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
            guard let record = try? Record(validating: bytes) else { continue }
            #expect(record.bytes == bytes)
            _ = record.fields
        }
    }

    @Test("maps and arrays nested deeper than the limit are refused")
    func depth() throws {
        func nested(_ depth: Int) -> Value { (1..<depth).reduce([]) { value, _ in [value] } }
        // The record's own map is not counted: the field's value has the whole depth.
        let deep = try Record(["a": nested(20)])
        #expect(try Record(validating: deep.bytes) == deep)
        let error = #expect(throws: LarderError.self) {
            try Record(validating: Record(["a": nested(21)]).bytes)
        }
        #expect(error?.condition == .tooDeep)
        #expect(throws: LarderError.self) { try Record(["a": nested(10_000)]) }
    }

    @Test("fields beyond the size limit are refused")
    func size() throws {
        let large = try Record(["a": .string(String(repeating: "x", count: 1_048_576))])
        let error = #expect(throws: LarderError.self) { try Record(validating: large.bytes) }
        #expect(error?.condition == .tooLarge)
        #expect(try Record(validating: large.bytes, maxBytes: 2_000_000) == large)
        // Name and text each count their bytes and one.
        #expect(try Record(["ab": "xyz"]).sizeBytes == 3 + 4)
    }

    @Test("names that are empty are refused")
    func emptyNames() {
        #expect(throws: LarderError.self) { try Record(["": 1]) }
        #expect(throws: LarderError.self) { try Record(["a": ["": 1]]) }
    }

    @Test("records are equal when their fields are")
    func equality() throws {
        #expect(try Record(["a": 1]) != Record(["a": 1.0]))
        #expect(try Record(["a": 1]) != Record(["b": 1]))
        #expect(try Record(["a": 1]) != Record(["a": 1, "b": 1]))
        let (x, y) = (
            PendingServerTimestamp(localWriteTime: .epoch, previous: 1),
            PendingServerTimestamp(localWriteTime: .epoch, previous: 2)
        )
        #expect(try Record(["a": .serverTimestamp(x)]) == Record(["a": .serverTimestamp(y)]))
    }

    @Test("a builder goes on after a failure")
    func builderAfterFailure() throws {
        let builder = try RecordBuilder()
        #expect(throws: LarderError.self) { try builder.encode(["a": ["": 1]] as MapValue) }
        #expect(try builder.encode(["a": 1] as MapValue).fields == ["a": 1])
    }
}

@Suite("Patches")
struct RecordPatchTests {
    private func patch(_ base: MapValue, _ source: MapValue, _ mask: [[String]]) throws -> MapValue
    {
        try Record(base).patched(
            with: Record(source), mask: FieldMask(try mask.map { try FieldPath($0) })
        ).fields
    }

    @Test("fields of the mask are set, or deleted where the source has none")
    func setsAndDeletes() throws {
        #expect(try patch(["a": 1, "b": 2], ["a": 3, "c": 4], [["a"], ["b"]]) == ["a": 3])
    }

    @Test("maps on the way are made, other values on the way are replaced by maps")
    func intermediates() throws {
        #expect(
            try patch(["a": 1], ["a": ["b": 2], "c": ["d": 3]], [["a", "b"], ["c", "d"]])
                == ["a": ["b": 2], "c": ["d": 3]])
    }

    @Test("a delete below a missing or non-map value changes nothing")
    func deletesBelowNothing() throws {
        #expect(try patch(["a": 1], [:], [["a", "b"], ["c", "d", "e"]]) == ["a": 1])
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
                expected =
                    applied(expected, path.segments[...], lookUp(source, path.segments[...]))
                    ?? expected
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

    private func applied(_ value: Value?, _ names: ArraySlice<String>, _ new: Value?) -> Value? {
        guard let name = names.first else { return new ?? .null }
        var map = MapValue()
        if case .map(let present) = value {
            map = present
        } else if new == nil {
            return value
        }
        map[name] = names.count == 1 ? new : applied(map[name], names.dropFirst(), new)
        return .map(map)
    }
}
