import LarderModel
import LarderSync
import Testing

/// What a transaction asks of the documents that it has read.
@Suite struct TransactionWritesTests {
    private let version = SnapshotVersion(Timestamp(seconds: 7, nanoseconds: 0))
    private let found: DocumentPath
    private let missing: DocumentPath
    private let unread: DocumentPath
    private let writes: TransactionWrites
    private let record: Record

    init() throws {
        found = try DocumentPath("a/found")
        missing = try DocumentPath("a/missing")
        unread = try DocumentPath("a/unread")
        record = try Record(["n": 1])
        writes = TransactionWrites(reads: [found: version, missing: .none])
    }

    private func set(_ path: DocumentPath) -> Mutation { Mutation(.set(record), at: path) }

    private func update(_ path: DocumentPath) -> Mutation {
        Mutation(
            .patch(record, FieldMask(leavesOf: record.fields)), at: path,
            precondition: .exists(true))
    }

    private func preconditions(_ mutations: [Mutation]) throws -> [String] {
        try writes.guarded(mutations).map { mutation in
            let kind =
                switch mutation.operation {
                case .set: "set"
                case .patch: "update"
                case .delete: "delete"
                case .verify: "verify"
                }
            let precondition =
                switch mutation.precondition {
                case .none: "any"
                case .exists(let exists): exists ? "there" : "gone"
                case .updateTime(let time): time == version ? "same" : "other"
                }
            return "\(kind) \(mutation.path.id) \(precondition)"
        }
    }

    @Test("the first change of a document that was read relies on what was read")
    func first() throws {
        #expect(
            try preconditions([set(found), Mutation(.delete, at: missing)])
                == ["set found same", "delete missing gone"])
        #expect(
            try preconditions([update(found), set(missing)])
                == ["update found same", "set missing gone"])
    }

    @Test("later changes, and those of other documents, ask for what they would anyway")
    func later() throws {
        #expect(
            try preconditions([
                set(found), set(found), update(found), set(unread), update(unread),
                Mutation(.delete, at: unread), set(missing), update(missing),
            ]) == [
                "set found same", "set found any", "update found there", "set unread any",
                "update unread there", "delete unread any", "set missing gone",
                "update missing there",
            ])
    }

    @Test("documents that were read and not changed are checked, in order")
    func verified() throws {
        #expect(try preconditions([]) == ["verify found same", "verify missing gone"])
        #expect(
            try preconditions([set(missing)]) == ["set missing gone", "verify found same"])
        #expect(try TransactionWrites(reads: [:]).guarded([]).isEmpty)
    }

    @Test("a document that was not there cannot be updated")
    func update() throws {
        #expect(throws: LarderError.self) { try writes.guarded([update(missing)]) }
    }

    @Test("What is worth another attempt", arguments: 1...16)
    func codes(_ number: Int) {
        let code = LarderError.Code(rawValue: number)
        let final: Set<LarderError.Code> = [
            .invalidArgument, .notFound, .permissionDenied, .outOfRange, .unimplemented,
            .dataLoss,
        ]
        #expect(code.isWorthAnotherTransaction == !final.contains(code))
    }
}
