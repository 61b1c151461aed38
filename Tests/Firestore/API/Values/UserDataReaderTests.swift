import Foundation
import LarderModel
import Testing

@testable import Larder

/// The parts of a patch.
private struct Patch {
    let fields: MapValue
    let mask: [String]
    let transforms: [FieldTransform]
    let precondition: Precondition

    init(_ mutation: Mutation) throws {
        guard case .patch(let record, let mask) = mutation.operation else {
            throw LarderError(.internal, "no patch")
        }
        fields = record.fields
        self.mask = mask.paths.map(\.canonicalString)
        transforms = mutation.transforms
        precondition = mutation.precondition
    }
}

private func merged(_ data: [String: Any]) throws -> Patch {
    try Patch(Sample.reader.mergeSet(data, at: Sample.path()))
}

private func merged(_ data: [String: Any], fields: [Any]) throws -> Patch {
    try Patch(Sample.reader.mergeSet(data, mergeFields: fields, at: Sample.path()))
}

private func updated(_ data: [AnyHashable: Any]) throws -> Patch {
    try Patch(Sample.reader.update(data, at: Sample.path()))
}

@Suite("Conversion of data to mutations")
struct UserDataReaderTests {
    private func transform(_ path: String, _ operation: FieldTransform.Operation) throws
        -> FieldTransform
    {
        FieldTransform(try LarderModel.FieldPath(canonical: path), operation)
    }

    @Test(
        "Set: sentinels are removed from the data and become transforms; there is no precondition")
    func set() throws {
        let mutation = try Sample.reader.set(
            [
                "a": 1, "b": FieldValue.serverTimestamp(),
                "c": ["d": FieldValue.increment(2.5), "e": [String: Any]()] as [String: Any],
            ], at: Sample.path())
        guard case .set(let record) = mutation.operation else {
            Issue.record("no set")
            return
        }
        #expect(record.fields == ["a": 1, "c": ["e": [:]]])
        #expect(mutation.precondition == .none)
        #expect(
            Set(mutation.transforms)
                == [try transform("b", .serverTimestamp), try transform("c.d", .increment(2.5))])
    }

    @Test("Every sentinel has its transform")
    func sentinels() throws {
        let sentinels: [(FieldValue, FieldTransform.Operation)] = [
            (.serverTimestamp(), .serverTimestamp),
            (.increment(1), .increment(1)), (.increment(Int64(2)), .increment(2)),
            (.increment(0.5), .increment(0.5)), (.minimum(3), .minimum(3)),
            (.minimum(0.5), .minimum(0.5)), (.maximum(Int64(4)), .maximum(4)),
            (.maximum(1.5), .maximum(1.5)),
            (.arrayUnion([1, "a", ["b": [true]]]), .arrayUnion([1, "a", ["b": [true]]])),
            (.arrayRemove([]), .arrayRemove([])),
        ]
        for (sentinel, operation) in sentinels {
            let patch = try updated(["f": sentinel])
            #expect(patch.transforms == [try transform("f", operation)])
            #expect(patch.mask.isEmpty && patch.fields.isEmpty)
        }
        #expect(FieldValue.vector([1, 2]) == VectorValue([1, 2]))
        #expect(FieldValue.vector([Float(0.5)]) == VectorValue([0.5]))
    }

    @Test("nil is null, as bridged for Apple's SDK, at any depth and in every operation")
    func nils() throws {
        let (none, name): (Int?, String??) = (nil, .some(nil))
        let data: [String: Any] = [
            "none": none as Any, "name": name as Any, "n": 1,
            "map": ["a": nil, "b": "x"] as [String: String?],
            "list": [nil, "x"] as [String?], "deep": [["a": none as Any]],
        ]
        let fields: MapValue = [
            "none": .null, "name": .null, "n": 1, "map": ["a": .null, "b": "x"],
            "list": [.null, "x"], "deep": [["a": .null]],
        ]
        #expect(try updated(data).fields == fields)
        #expect(try merged(data).fields == fields)
        #expect(try Value(comparing: none as Any) == .null)
        #expect(
            try updated(["f": FieldValue.arrayUnion([none as Any, 1])]).transforms
                == [try transform("f", .arrayUnion([.null, 1]))])
    }

    @Test("Merge: the mask has every leaf, empty maps and deletions, and no transforms")
    func merge() throws {
        let patch = try merged([
            "a": ["b": 1, "c": FieldValue.delete(), "t": FieldValue.serverTimestamp()]
                as [String: Any],
            "empty": [String: Any](), "list": [["x": 1]], "gone": FieldValue.delete(),
            "odd.name": 5,
        ])
        #expect(patch.mask == ["a.b", "a.c", "empty", "gone", "list", "`odd.name`"])
        #expect(patch.fields == ["a": ["b": 1], "empty": [:], "list": [["x": 1]], "odd.name": 5])
        #expect(patch.transforms == [try transform("a.t", .serverTimestamp)])
        #expect(patch.precondition == .none)
    }

    @Test("mergeFields: the mask is the given paths; other data and other transforms are dropped")
    func mergeFields() throws {
        let patch = try merged(
            [
                "a": ["b": 1, "c": 2], "d": 3, "t": FieldValue.serverTimestamp(),
                "u": FieldValue.increment(1), "gone": FieldValue.delete(),
            ], fields: ["a.b", Larder.FieldPath(["t"]), "gone"])
        // A transform needs no place in the mask, where it would be deleted first.
        #expect(patch.mask == ["a.b", "gone"])
        #expect(patch.fields == ["a": ["b": 1]])
        #expect(patch.transforms == [try transform("t", .serverTimestamp)])
    }

    @Test("mergeFields: a map that a path leads to is taken whole")
    func mergeFieldsWholeMap() throws {
        let patch = try merged(["a": ["b": 1, "c": FieldValue.increment(1)]], fields: ["a"])
        #expect(patch.mask == ["a"])
        #expect(patch.fields == ["a": ["b": 1]])
        #expect(patch.transforms == [try transform("a.c", .increment(1))])
    }

    @Test("mergeFields: a path that is not in the data is an error that names it")
    func mergeFieldsMissing() {
        for field: Any in ["b", "a.b.c", Larder.FieldPath(["a", "x"])] {
            let error = failure { _ = try merged(["a": ["b": 1]], fields: [field]) }
            #expect(error?.kind == .invalidArgument)
        }
        #expect(failure { _ = try merged(["a": 1], fields: ["z"]) }?.message.contains("z") == true)
        #expect(failure { _ = try merged(["a": 1], fields: [5]) }?.kind == .invalidArgument)
        #expect(failure { _ = try merged(["a": 1], fields: ["a..b"]) }?.kind == .invalidArgument)
    }

    @Test(
        "Update: keys are dotted strings or field paths, the mask is the keys, the document exists")
    func update() throws {
        let patch = try updated([
            "a": ["b": 1], "c.d": 2, "c.e.f": 3, Larder.FieldPath(["odd.name"]): 4,
            "x.gone":
                FieldValue.delete(), "c.t": FieldValue.increment(1),
        ])
        #expect(patch.mask == ["a", "c.d", "c.e.f", "`odd.name`", "x.gone"])
        #expect(patch.fields == ["a": ["b": 1], "c": ["d": 2, "e": ["f": 3]], "odd.name": 4])
        #expect(patch.transforms == [try transform("c.t", .increment(1))])
        #expect(patch.precondition == .exists(true))
    }

    @Test("Update: overlapping keys are refused")
    func overlappingKeys() {
        for data: [AnyHashable: Any] in [
            ["a": 1, "a.b": 2], ["a.b": 1, "a.b.c.d": FieldValue.delete()],
            ["a": 1, Larder.FieldPath(["a"]): 2],
        ] {
            #expect(failure { _ = try updated(data) }?.kind == .invalidArgument)
        }
        #expect(throws: Never.self) { try updated(["a.b": 1, "a.bc": 2, "a-b": 3]) }
    }

    @Test("Update: keys that are no field paths are refused")
    func badKeys() {
        for key: AnyHashable in ["", ".a", "a.", "a..b", "a[0]", "a*", "a/b", "~", 5] {
            #expect(failure { _ = try updated([key: 1]) }?.kind == .invalidArgument)
        }
        for path in [Larder.FieldPath([]), Larder.FieldPath(["a", ""])] {
            #expect(failure { _ = try updated([path: 1]) }?.kind == .invalidArgument)
        }
    }

    @Test("delete() stands in merging sets anywhere and in updates at the top level only")
    func deletePlacement() throws {
        let reader = Sample.reader
        let path = try Sample.path()
        let inSet = failure { _ = try reader.set(["a": ["b": FieldValue.delete()]], at: path) }
        #expect(inSet?.message.contains("a.b") == true)
        let nested = failure { _ = try updated(["a": ["b": FieldValue.delete()]]) }
        #expect(nested?.message.contains("a.b") == true)
        #expect(throws: Never.self) { try updated(["a.b": FieldValue.delete()]) }
    }

    @Test("Sentinels inside arrays are refused, also in maps inside them and in unions")
    func sentinelsInArrays() {
        let sentinel = FieldValue.serverTimestamp()
        for value: Any in [[sentinel], [1, ["a": sentinel]], [["a": ["b": sentinel]]]] {
            #expect(failure { _ = try Sample.fields(["f": value]) }?.kind == .invalidArgument)
        }
        let error = failure { _ = try updated(["f": FieldValue.arrayUnion([1, sentinel])]) }
        #expect(error?.message.contains("f[1]") == true)
    }

    @Test("Arrays directly inside arrays are refused, with a map between them they are not")
    func nestedArrays() throws {
        let error = failure { _ = try Sample.fields(["a": [1, [2]]]) }
        #expect(error?.message.contains("a[1]") == true)
        #expect(try Sample.fields(["a": [["b": [1]]]]) == ["a": [["b": [1]]]])
        #expect(failure { _ = try updated(["f": FieldValue.arrayUnion([[1]])]) } != nil)
        #expect(failure { _ = try updated(["f": FieldValue.arrayRemove([["a": [[1]]]])]) } != nil)
    }
}

@Suite("Validation of writes")
struct UserDataLimitTests {
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
        #expect(failure { _ = try Value(comparing: nested(22)) }?.condition == .tooDeep)
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

    @Test("Values that cannot be stored are rejected with the field's name")
    func unsupportedValues() throws {
        struct Own {}
        let values: [Any] = [
            Own(), UInt64.max, UInt.max, NSNumber(value: UInt64.max),
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

@Suite("Values of queries")
struct FilterValueTests {
    @Test("Values, arrays and maps are taken")
    func values() throws {
        #expect(try Value(comparing: 5) == 5)
        #expect(try Value(comparing: [1, "a"]) == [1, "a"])
        #expect(try Value(comparing: ["a": [1]]) == ["a": [1]])
        #expect(try Value(comparing: NSNull()) == .null)
        #expect(try Value(comparing: ["__odd__": 1]) == ["__odd__": 1])
        let time = Timestamp(seconds: 1, nanoseconds: 1999)
        #expect(try Value(comparing: time) == .timestamp(Timestamp(seconds: 1, nanoseconds: 1000)))
    }

    @Test("Sentinels are refused at any depth")
    func sentinels() {
        for sentinel in [FieldValue.delete(), .serverTimestamp(), .arrayUnion([1]), .increment(1)] {
            for value: Any in [sentinel, [sentinel], ["a": sentinel]] {
                #expect(
                    failure { _ = try Value(comparing: value) }?.kind == .invalidArgument)
            }
        }
    }

    @Test("Arrays in arrays are for the lists of in and not-in only")
    func nestedArrays() throws {
        #expect(failure { _ = try Value(comparing: [[1]]) } != nil)
        #expect(try Value(comparing: [[1], [2]], allowsNestedArrays: true) == [[1], [2]])
    }

    @Test("References of any database are accepted")
    func references() throws {
        let other = try ReferenceStub("a/b", in: DatabaseID(project: "other"))
        #expect(try Value(comparing: other) == .reference(other.resourceName))
    }
}
