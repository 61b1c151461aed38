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

@Suite("3.1: how data becomes mutations")
struct ValuesMutationTests {
    private func transform(_ path: String, _ operation: FieldTransform.Operation) throws
        -> FieldTransform
    {
        FieldTransform(try LarderModel.FieldPath(canonical: path), operation)
    }

    @Test("Set: sentinels leave the data and become transforms; there is no precondition")
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
