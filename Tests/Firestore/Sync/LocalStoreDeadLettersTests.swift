import LarderDocumentStore
import LarderModel
import LarderSync
import Testing

@Suite("Local store: dead letters")
struct LocalStoreDeadLettersTests {
    private let fixture: LocalStoreFixture
    private let denied = LarderError(.permissionDenied, "not yours")

    init() throws {
        fixture = try LocalStoreFixture()
    }

    @Test("a refused batch leaves the queue and is kept with the reason")
    func rejecting() throws {
        let batch = try fixture.write(.set("c/a", ["x": 1]), .increment("c/b", "n", by: 1))
        try fixture.local.recordAttempt(toSend: batch.id, at: time(7))
        let changes = try reject(batch)
        #expect(changes.map(\.path.string) == ["c/a", "c/b"] && changes[0].after == nil)
        #expect(try fixture.local.pendingBatches().isEmpty)
        let letter = try #require(try fixture.local.deadLetters().first)
        #expect(letter.batchID == batch.id && letter.user == fixture.local.user)
        #expect(letter.localWriteTime == time(5) && letter.rejectionTime == time(9))
        #expect(letter.error.kind == .permissionDenied && letter.error.message == "not yours")
        #expect(letter.attemptCount == 1)
        #expect(
            letter.mutations
                == [try .set("c/a", ["x": 1]), try .increment("c/b", "n", by: 1)])
    }

    @Test("a cancelled batch leaves no dead letter, one that is not there none either")
    func cancelling() throws {
        let batch = try fixture.write(.set("c/a", [:]))
        _ = try fixture.local.cancel([batch.id])
        #expect(try reject(batch).isEmpty)
        #expect(try fixture.local.deadLetters().isEmpty)
        #expect(try outcome(batch.id) == "acknowledged or unknown")
    }

    @Test("dead letters are listed in the order of their batches, in pages")
    func listing() throws {
        var ids: [Int64] = []
        for _ in 0..<12 {
            let batch = try fixture.write(.set("c/a", [:]))
            ids.append(batch.id)
        }
        _ = try fixture.local.reject(ids.reversed(), because: denied, at: time(1))
        #expect(try fixture.local.deadLetters().map(\.batchID) == ids)
        #expect(
            try fixture.local.deadLetters(after: ids[3], limit: 2).map(\.batchID)
                == [ids[4], ids[5]])
        #expect(try fixture.local.deadLetters(after: .max).isEmpty)
        #expect(try fixture.local.discardDeadLetters([ids[0], ids[11], 99]) == 2)
        #expect(try fixture.local.deadLetters().map(\.batchID) == Array(ids[1..<11]))
    }

    @Test("each user has dead letters of their own, whatever their ids look like")
    func users() throws {
        let names = ["", "a", "a/0", "1:a/", "a/0000000000000000001"]
        let stores = names.map { LocalStoreFixture.local(fixture.store, $0) }
        var ids: [Int64] = []
        for local in stores {
            let batch = try local.write([fixture.pending([.set("c/a", [:])])])[0].get()
            ids.append(batch.id)
            _ = try local.reject([batch.id], because: denied, at: time(1))
        }
        for (local, id) in zip(stores, ids) {
            #expect(try local.deadLetters().map(\.batchID) == [id], "\(local.user)")
        }
    }

    @Test("a dead letter can be tried again: its writes go to the end of the queue")
    func retrying() throws {
        let first = try fixture.write(.increment("c/a", "n", by: 1))
        try reject(first)
        _ = try fixture.write(.set("c/a", ["n": 10]))
        let retried = try #require(
            try fixture.local.retryDeadLetter(first.id, localWriteTime: time(20)))
        #expect(retried.id > first.id)
        #expect(try fixture.view("c/a")?.fields == ["n": 11])
        #expect(try fixture.local.deadLetters().isEmpty)
        #expect(try fixture.local.pendingBatches().last?.localWriteTime == time(20))
        #expect(try fixture.local.retryDeadLetter(first.id, localWriteTime: time(20)) == nil)
    }

    @Test("a dead letter stays when its writes cannot enter the queue")
    func retryingInVain() throws {
        let directory = fixture.store
        let batch = try fixture.write(
            .set("c/a", ["x": .string(String(repeating: "x", count: 999))]))
        try reject(batch)
        #expect(throws: LarderError.self) {
            try fixture.local(refusing: .writeMutations)
                .retryDeadLetter(batch.id, localWriteTime: time(1))
        }
        #expect(try fixture.local.deadLetters().map(\.batchID) == [batch.id])
        #expect(try directory.check().isClean)
    }

    @Test("The outcome of a batch follows from the queue and the dead letters")
    func outcomes() throws {
        let (a, b, c) = (
            try fixture.write(.set("c/a", [:])), try fixture.write(.set("c/b", [:])),
            try fixture.write(.set("c/c", [:]))
        )
        try fixture.acknowledge(a, at: 4)
        try reject(b)
        #expect(try outcome(a.id) == "acknowledged or unknown")
        #expect(try outcome(b.id) == "rejected: not yours")
        #expect(try outcome(c.id) == "pending")
        try fixture.local.discardDeadLetters([b.id])
        #expect(try outcome(b.id) == "acknowledged or unknown")
    }

    @Test("an error's text is cut, at any byte")
    func longMessages() throws {
        let batch = try fixture.write(.set("c/a", [:]))
        let error = LarderError(.internal, "x" + String(repeating: "é", count: 9999))
        _ = try fixture.local.reject([batch.id], because: error, at: time(1))
        let message = try #require(try fixture.local.deadLetters().first).error.message
        #expect(message.hasPrefix("xéé") && message.utf8.count < 1030)
    }

    @Test("A batch stays in the queue when the disk fails at its rejection")
    func guarding() throws {
        let batch = try fixture.write(.set("c/a", [:]))
        let local = fixture.local(refusing: .rejectBatch)
        #expect(throws: LarderError.self) {
            try local.reject([batch.id], because: denied, at: time(1))
        }
        #expect(throws: LarderError.self) { try local.cancel([batch.id]) }
        #expect(try outcome(batch.id) == "pending")
    }

    @discardableResult
    private func reject(_ batch: (id: Int64, changes: [LocalChange])) throws
        -> [LocalChange]
    {
        try fixture.local.reject([batch.id], because: denied, at: time(9))
    }

    private func outcome(_ id: Int64) throws -> String {
        switch try fixture.local.outcome(of: id) {
        case .pending: "pending"
        case .rejected(let letter): "rejected: \(letter.error.message)"
        case .acknowledgedOrUnknown: "acknowledged or unknown"
        }
    }

    private func time(_ seconds: Int64) -> Timestamp {
        Timestamp(seconds: seconds, nanoseconds: 0)
    }
}
