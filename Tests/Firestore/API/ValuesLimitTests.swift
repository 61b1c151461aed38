import Foundation
import LarderModel
import Testing

@testable import Larder

@Suite("1.7: what is refused when a write is made")
struct ValuesLimitTests {
    private func nested(_ levels: Int, _ inner: Any = 1) -> Any {
        (0..<levels).reduce(inner) { value, _ in ["m": value] }
    }

    @Test("Maps and arrays are nested at most 20 levels, and 100,000 are no trouble")
    func depth() throws {
        #expect(throws: Never.self) { try Sample.fields(["a": nested(20)]) }
        #expect(failure { _ = try Sample.fields(["a": nested(21)]) }?.condition == .tooDeep)
        #expect(throws: Never.self) { try Sample.fields(["a": nested(19, [1])]) }
        #expect(failure { _ = try Sample.fields(["a": nested(20, [1])]) }?.condition == .tooDeep)
        #expect(failure { _ = try Sample.fields(["a": nested(20_000)]) }?.condition == .tooDeep)
        let path = try Sample.path()
        #expect(throws: Never.self) { try Sample.reader.update(["a.b": nested(19)], at: path) }
        #expect(
            failure { _ = try Sample.reader.update(["a.b": nested(20)], at: path) }?.condition
                == .tooDeep)
        #expect(failure { _ = try Sample.reader.queryValue(nested(22)) }?.condition == .tooDeep)
    }

    @Test("A document counts at most 1,048,576 bytes, with its name and 32 bytes")
    func size() throws {
        // "c/d" counts 4 + 16, the name "a" 2, the text 1 more than its bytes.
        let fitting = 1_048_576 - 32 - 20 - 2 - 1
        #expect(throws: Never.self) {
            try Sample.record(["a": String(repeating: "x", count: fitting)])
        }
        let large = ["a": String(repeating: "x", count: fitting + 1)]
        #expect(failure { _ = try Sample.record(large) }?.condition == .tooLarge)
        let path = try Sample.path()
        #expect(failure { _ = try Sample.reader.mergeSet(large, at: path) }?.condition == .tooLarge)
        #expect(failure { _ = try Sample.reader.update(large, at: path) }?.condition == .tooLarge)
        // Integers take less in the record than they count.
        let numbers = [Any](repeating: 1, count: 140_000)
        #expect(failure { _ = try Sample.record(["a": numbers]) }?.condition == .tooLarge)
    }

    @Test("Names are not empty, not reserved, and at most 1,500 bytes, as are paths")
    func names() throws {
        for name in ["", "__a__", "__", "___", "____", String(repeating: "x", count: 1501)] {
            #expect(failure { _ = try Sample.fields([name: 1]) }?.kind == .invalidArgument)
            #expect(failure { _ = try Sample.fields(["a": [name: 1]]) }?.kind == .invalidArgument)
            #expect(
                failure { _ = try Sample.fields(["a": [["b": [name: 1]]]]) }?.kind
                    == .invalidArgument)
        }
        for name in [
            "_", "__a", "a__", "_a_", ".", "a.b", "~*/[]", String(repeating: "x", count: 1500),
        ] {
            #expect(try Sample.fields([name: 1]) == MapValue([name: .integer(1)]))
        }
        let half = String(repeating: "x", count: 750)
        #expect(failure { _ = try Sample.fields([half: [half: 1]]) }?.kind == .invalidArgument)
        let path = try Sample.path()
        for key: AnyHashable in ["__a__", "a.__b__.c", Larder.FieldPath.documentID()] {
            #expect(
                failure { _ = try Sample.reader.update([key: 1], at: path) }?.kind
                    == .invalidArgument)
        }
    }

    @Test("Values that cannot be stored are refused with the field's name")
    func unsupportedValues() throws {
        struct Own {}
        let values: [Any] = [
            Own(), UInt64.max, UInt.max, NSNumber(value: UInt64.max), Optional<Int>.none as Any,
            UUID(), Set([1]), [1: "a"], [AnyHashable(1): "a"] as [AnyHashable: Any],
            Date(timeIntervalSince1970: 1e15), Date(timeIntervalSince1970: .nan),
            try ReferenceStub("a/b", in: DatabaseID(project: "other")),
            ReferenceStub(ResourceName("projects/demo/databases/(default)/documents/odd")),
        ]
        for value in values {
            for data: [String: Any] in [["a": ["b": value]], ["a": ["b": ["c": value]]]] {
                let error = failure { _ = try Sample.fields(data) }
                #expect(error?.kind == .invalidArgument)
                #expect(error?.message.contains("found in field a.b") == true, "\(value)")
            }
            let inArray = failure { _ = try Sample.fields(["a": [0, ["b": value]]]) }
            #expect(inArray?.message.contains("found in field a[1].b") == true)
            let inUnion = failure {
                _ = try Sample.fields(["a": ["b": FieldValue.arrayUnion([value])]])
            }
            #expect(inUnion?.message.contains("found in field a.b[0]") == true)
        }
    }

    @Test("References inside unions must be of the same database")
    func referencesInUnions() throws {
        let own = FieldValue.arrayUnion([["r": try ReferenceStub("a/b")]])
        #expect(throws: Never.self) { try Sample.fields(["f": own]) }
    }
}

@Suite("2.9: values of queries")
struct ValuesQueryTests {
    @Test("Values, arrays and maps are taken")
    func values() throws {
        let reader = Sample.reader
        #expect(try reader.queryValue(5) == 5)
        #expect(try reader.queryValue([1, "a"]) == [1, "a"])
        #expect(try reader.queryValue(["a": [1]]) == ["a": [1]])
        #expect(try reader.queryValue(NSNull()) == .null)
        #expect(try reader.queryValue(["__odd__": 1]) == ["__odd__": 1])
        let time = Timestamp(seconds: 1, nanoseconds: 1999)
        #expect(try reader.queryValue(time) == .timestamp(Timestamp(seconds: 1, nanoseconds: 1000)))
    }

    @Test("Sentinels are refused at any depth")
    func sentinels() {
        for sentinel in [FieldValue.delete(), .serverTimestamp(), .arrayUnion([1]), .increment(1)] {
            for value: Any in [sentinel, [sentinel], ["a": sentinel]] {
                #expect(
                    failure { _ = try Sample.reader.queryValue(value) }?.kind == .invalidArgument)
            }
        }
    }

    @Test("Arrays in arrays are for the lists of in and not-in only")
    func nestedArrays() throws {
        #expect(failure { _ = try Sample.reader.queryValue([[1]]) } != nil)
        #expect(try Sample.reader.queryValue([[1], [2]], allowArrays: true) == [[1], [2]])
    }

    @Test("References of another database are refused")
    func references() throws {
        let other = try ReferenceStub("a/b", in: DatabaseID(project: "other"))
        #expect(failure { _ = try Sample.reader.queryValue(other) }?.kind == .invalidArgument)
    }
}
