import LarderModel
import Testing

@Suite("Applying mutations")
struct WorkingDocumentTests {
    private let path: DocumentPath
    private let builder: RecordBuilder
    private let time = Timestamp(seconds: 7, nanoseconds: 0)

    init() throws {
        path = try DocumentPath("c/d")
        builder = try RecordBuilder()
    }

    private func version(_ seconds: Int64) -> SnapshotVersion {
        SnapshotVersion(Timestamp(seconds: seconds, nanoseconds: 0))
    }

    private func found(_ fields: MapValue, at seconds: Int64 = 1) throws -> WorkingDocument {
        WorkingDocument(
            state: .found(try Record(fields)), version: version(seconds),
            createTime: Timestamp(seconds: 1, nanoseconds: 0))
    }

    private func patch(
        _ fields: MapValue, _ mask: [String], _ precondition: Precondition = .none,
        _ transforms: [FieldTransform] = []
    ) throws -> Mutation {
        Mutation(
            .patch(try Record(fields), FieldMask(try mask.map { try FieldPath(dotted: $0) })),
            at: path, precondition: precondition, transforms: transforms)
    }

    private func apply(_ mutations: Mutation..., to document: inout WorkingDocument) throws {
        for mutation in mutations {
            try document.apply(mutation, localWriteTime: time, using: builder)
        }
    }

    @Test("a set replaces all fields, and a version has no place in a local view")
    func sets() throws {
        var document = try found(["a": 1])
        try apply(Mutation(.set(try Record(["b": 2])), at: path), to: &document)
        #expect(document.record?.fields == ["b": 2])
        #expect(document.hasLocalMutations && document.version.isNone)
        guard case .whole = document.changes else {
            Issue.record("\(document.changes)")
            return
        }
    }

    @Test("a patch without a precondition makes a document that is missing")
    func patchesMake() throws {
        var document = WorkingDocument(nil)
        try apply(try patch(["a": ["b": 1], "c": 9], ["a.b"]), to: &document)
        #expect(document.record?.fields == ["a": ["b": 1]])
    }

    @Test("a delete below a value that is no map, or below none, changes nothing")
    func deletesBelowOthers() throws {
        let fields: MapValue = [
            "text": "precious", "number": 1, "null": .null, "array": [1], "map": ["x": 1],
        ]
        var document = try found(fields)
        try apply(
            try patch(
                [:], ["text.a", "number.a.b", "null.a", "array.a", "missing.a", "map.y.z"]),
            to: &document)
        #expect(document.record?.fields == fields)
        try apply(try patch(["text": ["b": 2]], ["text.a", "text.b", "map.x"]), to: &document)
        #expect(document.record?.fields["text"] == ["b": 2])
        #expect(document.record?.fields["map"] == [:])
    }

    @Test("a mutation whose precondition does not hold changes nothing")
    func preconditions() throws {
        for (precondition, holds) in [
            (Precondition.exists(true), true), (.exists(false), false),
            (.updateTime(version(1)), true), (.updateTime(version(2)), false),
        ] {
            var document = try found(["a": 1])
            try apply(try patch(["a": 2], ["a"], precondition), to: &document)
            #expect(document.hasLocalMutations == holds, "\(precondition)")
            #expect(document.record?.fields == ["a": holds ? 2 : 1], "\(precondition)")
        }
        for state in [WorkingDocument.State.nothing, .absent, .unknown] {
            var document = WorkingDocument(state: state, version: version(1))
            try apply(try patch(["a": 2], ["a"], .updateTime(version(1))), to: &document)
            try apply(try patch(["a": 2], ["a"], .exists(true)), to: &document)
            #expect(!document.hasLocalMutations)
            try apply(try patch(["a": 2], ["a"], .exists(false)), to: &document)
            #expect(document.record?.fields == ["a": 2])
        }
    }

    @Test("transforms read the document before the patch, and override its values")
    func transforms() throws {
        var document = try found(["n": 5, "m": ["n": 1]])
        let increment = FieldTransform(try FieldPath("n"), .increment(1))
        let inner = FieldTransform(try FieldPath("m", "n"), .increment(1))
        try apply(
            try patch(
                ["n": 100, "m": ["n": 50, "x": 2]], ["n", "m"], .none, [increment, inner]),
            to: &document)
        #expect(document.record?.fields == ["n": 6, "m": ["n": 2, "x": 2]])
        try apply(
            Mutation(.set(try Record(["z": 1])), at: path, transforms: [increment]), to: &document)
        #expect(document.record?.fields == ["n": 7, "z": 1])
    }

    @Test("masks of patches add up; after a set or delete all is decided")
    func masks() throws {
        var document = try found([:])
        let increment = FieldTransform(try FieldPath("n"), .increment(1))
        try apply(try patch(["a": 1], ["a"]), try patch([:], [], .none, [increment]), to: &document)
        #expect(
            document.overlay(overFound: true)?.operation
                == .patch(FieldMask([try FieldPath("a"), try FieldPath("n")])))
        try apply(Mutation(.delete, at: path), try patch(["a": 1], ["a"]), to: &document)
        #expect(document.overlay(overFound: true)?.operation == .set)
    }

    @Test("a committed set or delete takes effect on any cached state")
    func commits() throws {
        var document = WorkingDocument(nil)
        let result = MutationResult(version: version(3))
        try document.apply(
            Mutation(.set(try Record(["a": 1])), at: path, precondition: .exists(true)),
            committedAs: result, using: builder)
        #expect(document.record?.fields == ["a": 1])
        #expect(document.version == version(3) && document.hasCommittedMutations)
        try document.apply(
            Mutation(.delete, at: path), committedAs: MutationResult(version: version(4)),
            using: builder)
        guard case .absent = document.state else {
            Issue.record("\(document.state)")
            return
        }
        #expect(document.version == version(4) && document.hasCommittedMutations)
    }

    @Test("a committed create determines the create time, and only a create does")
    func createTimes() throws {
        let fields = try Record(["a": 1])
        func created(_ document: WorkingDocument, _ precondition: Precondition) throws
            -> Timestamp?
        {
            var document = document
            try document.apply(
                Mutation(.set(fields), at: path, precondition: precondition),
                committedAs: MutationResult(version: version(3)), using: builder)
            return document.createTime
        }
        let made = Timestamp(seconds: 1, nanoseconds: 0)
        #expect(try created(WorkingDocument(nil), .exists(false)) == version(3).timestamp)
        // The cached document was deleted by another client.
        #expect(try created(found(["a": 0]), .exists(false)) == version(3).timestamp)
        #expect(try created(WorkingDocument(nil), .none) == nil)
        #expect(try created(found(["a": 0]), .none) == made)
    }

    @Test("a committed patch that does not fit the cached document leaves unknown fields")
    func unknown() throws {
        var document = WorkingDocument(nil)
        try document.apply(
            try patch(["a": 1], ["a"], .exists(true)),
            committedAs: MutationResult(version: version(3)), using: builder)
        guard case .unknown = document.state else {
            Issue.record("\(document.state)")
            return
        }
        #expect(document.version == version(3) && document.hasCommittedMutations)
    }

    @Test("results that do not fit the transforms are an error")
    func misfits() throws {
        var document = try found(["n": 1])
        let transform = FieldTransform(try FieldPath("n"), .increment(1))
        #expect(throws: LarderError.self) {
            try document.apply(
                try patch([:], [], .none, [transform]),
                committedAs: MutationResult(version: version(3)), using: builder)
        }
        #expect(document.record?.fields == ["n": 1])
    }

    @Test("the base of increments is the value of their fields, 0 for a value that is not a number")
    func bases() throws {
        let document = try found(["n": 5, "s": "text", "d": 1.5])
        let transforms = try ["n", "s", "d", "x"].map {
            FieldTransform(try FieldPath($0), .increment(1))
        }
        let base = try patch(["a": 1], ["a"], .none, transforms).base(
            over: document, using: builder)
        #expect(base?.record?.fields == ["n": 5, "s": 0, "d": 1.5, "x": 0])
        #expect(base?.precondition == .exists(true))
        let others = [
            FieldTransform(try FieldPath("n"), .minimum(1)),
            FieldTransform(try FieldPath("s"), .serverTimestamp),
        ]
        #expect(
            try patch([:], [], .none, others).base(over: document, using: builder) == nil)
        #expect(
            try patch([:], [], .exists(false), transforms).base(over: document, using: builder)
                == nil)
    }

    @Test("an overlay is a patch over a document that exists, else all of the view")
    func overlays() throws {
        var document = try found(["a": 1])
        #expect(document.overlay(overFound: true) == nil)
        try apply(try patch(["a": 2], ["a"]), to: &document)
        #expect(
            document.overlay(overFound: true)?.operation
                == .patch(FieldMask([try FieldPath("a")])))
        #expect(document.overlay(overFound: false)?.operation == .set)
        try apply(Mutation(.delete, at: path), to: &document)
        #expect(document.overlay(overFound: true)?.operation == .delete)
    }

    @Test("a patch overlay over a changed document is the pending writes applied again")
    func reapplied() throws {
        var document = try found(["a": 1, "b": 1])
        try apply(try patch(["a": 2, "m": ["x": 1]], ["a", "m.x", "m.y.z"]), to: &document)
        let overlay = try #require(document.overlay(overFound: true))
        let changed = try found(["a": 7, "b": 8, "m": ["w": 3]], at: 2)
        #expect(
            try overlay.applied(to: changed, view: document.record, using: builder)?.fields
                == ["a": 2, "b": 8, "m": ["w": 3, "x": 1]])
    }

    @Test("a pending write that depends on a document's contents is applied again")
    func dependence() throws {
        let field = try FieldPath("f")
        let operations: [FieldTransform.Operation] = [
            .increment(1), .minimum(1), .maximum(1), .arrayUnion([1]), .arrayRemove([1]),
            .serverTimestamp,
        ]
        for operation in operations {
            var document = try found(["a": 1])
            try apply(
                try patch([:], [], .none, [FieldTransform(field, operation)]), to: &document)
            #expect(document.dependsOnContents, "\(operation)")
            try apply(Mutation(.set(try Record(["a": 2])), at: path), to: &document)
            #expect(!document.dependsOnContents)
        }
        var document = try found(["a": 1])
        try apply(try patch(["a": 2], ["a"], .updateTime(version(9))), to: &document)
        #expect(document.dependsOnContents)
    }
}
