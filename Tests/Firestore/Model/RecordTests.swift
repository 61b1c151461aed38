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

    @Test("1.6: the previous value of a pending server timestamp comes back, too")
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

    @Test("1.7: maps and arrays nested deeper than the limit are refused")
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

    @Test("1.7: fields beyond the size limit are refused")
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

    @Test("1.4: records are equal when their fields are")
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
