import Foundation
import Larder
import LarderBackend
import LarderModel
import LarderTestSupport
import Synchronization
import Testing

@Suite struct DeadLetterTests {
    /// A backend that refuses to have documents of the collection `secret` written.
    private func guardedWorld(_ isOpen: @escaping @Sendable () -> Bool = { false }) throws -> World
    {
        try World(rules: { request in
            switch request.operation {
            case .create(let path), .update(let path), .delete(let path):
                path.string.hasPrefix("secret/") && !isOpen()
                    ? .deny(reason: "it is a secret") : .allow
            default: .allow
            }
        })
    }

    @Test("a write that the backend rejects is reverted, reported and kept")
    func refused() async throws {
        let world = try guardedWorld()
        let db = try world.database()
        let write = db.document("secret/x").enqueueSetData([
            "n": 1, "t": FieldValue.serverTimestamp(),
        ])
        let id = try #require(try await write.committedLocally())
        #expect(await code { try await write.acknowledged() } == .permissionDenied)
        #expect(try await !db.document("secret/x").getDocument().exists)
        #expect(try await db.pendingWrites().isEmpty)
        let letters = try await db.deadLetters()
        #expect(letters.count == 1)
        let letter = try #require(letters.first)
        #expect(letter.id == id)
        #expect(letter.error.kind == .permissionDenied)
        #expect(letter.error.message.contains("it is a secret"))
        #expect(letter.documents == [db.document("secret/x")])
        #expect(
            "\(letter)" == "dead letter \(id) of \(letter.writeTime): set secret/x; rejected at "
                + "\(letter.rejectionTime): \(letter.error.message)")
        #expect(letter.changes.map(\.kind) == [.set])
        let fields = try #require(letter.changes.first?.fields)
        #expect(fields[FieldPath(["n"])] as? Int == 1)
        #expect(fields[FieldPath(["t"])] as? FieldValue == .serverTimestamp())
        #expect(fields.count == 2)
        #expect(letter.rejectionTime >= letter.writeTime)
        guard case .rejected(let same) = try await db.outcome(ofWrite: id) else {
            Issue.record("the write was rejected")
            return
        }
        #expect(same.id == id)
        #expect(try await db.discardDeadLetter(id))
        #expect(try await !db.discardDeadLetter(id))
        #expect(try await db.deadLetters().isEmpty)
        guard case .acknowledgedOrUnknown = try await db.outcome(ofWrite: id) else {
            Issue.record("the write is forgotten")
            return
        }
        try await db.terminate()
    }

    @Test("writes after a rejected one proceed; the rejected one can be retried")
    func retry() async throws {
        let isOpen = Mutex(false)
        let opening = { @Sendable in isOpen.withLock { $0 } }
        let world = try guardedWorld(opening)
        let db = try world.database()
        let refused = db.document("secret/x").enqueueSetData(["n": 1])
        let next = db.document("open/x").enqueueSetData(["n": 2])
        try await next.acknowledged()
        #expect(await code { try await refused.acknowledged() } == .permissionDenied)
        isOpen.withLock { $0 = true }
        let id = try #require(refused.batchID)
        let again = try #require(try await db.retryDeadLetter(id))
        try await again.acknowledged()
        #expect(try #require(again.batchID) > id)
        #expect(try world.fields("secret/x") == ["n": 1])
        #expect(try await db.deadLetters().isEmpty)
        #expect(try await db.retryDeadLetter(id) == nil)
        try await db.terminate()
    }

    @Test("a rejection is reported after a restart, too")
    func restart() async throws {
        let directory = try TemporaryDirectory()
        let configuration = FirestoreConfiguration(directory: directory.file("store"))
        let world = try guardedWorld()
        world.network.set(.down)
        let offline = try world.database(configuration)
        let write = offline.document("secret/x").enqueueUpdateData(["n": FieldValue.delete()])
        let id = try #require(try await write.committedLocally())
        guard case .pending = try await offline.outcome(ofWrite: id) else {
            Issue.record("the write is pending")
            return
        }
        try await offline.terminate()
        world.network.set(.up)
        let online = try world.database(configuration)
        for try await letters in online.deadLetterUpdates where !letters.isEmpty {
            #expect(letters.map(\.id) == [id])
            #expect(letters.first?.changes.map(\.kind) == [.update])
            #expect(
                letters.first?.changes.first?.fields[FieldPath(["n"])] as? FieldValue == .delete())
            break
        }
        try await online.terminate()
        // It stays until the application has handled it.
        let last = try Firestore(
            configuration: {
                var configuration = configuration
                configuration.project = "test"
                return configuration
            }())
        #expect(try await last.deadLetters().map(\.id) == [id])
        try await last.terminate()
    }

    @Test("with a limit of attempts a failing write is abandoned, and later ones proceed")
    func poison() async throws {
        let world = try World()
        var configuration = FirestoreConfiguration.inMemory
        configuration.maxWriteAttempts = 2
        let db = try world.database(configuration)
        let failure = LarderError(.internal, "cannot digest it")
        world.network.refuseWrites(with: [failure, failure])
        let poison = db.document("a/x").enqueueSetData(["n": 1])
        let next = db.document("a/y").enqueueSetData(["n": 2])
        try await next.acknowledged()
        do {
            try await poison.acknowledged()
            Issue.record("the write was given up")
        } catch {
            #expect(error.kind == .internal)
            #expect(error.message == "given up after 2 attempts: cannot digest it")
        }
        #expect(try await db.deadLetters().map(\.attemptCount) == [2])
        #expect(try world.fields("a/x") == nil)
        try await db.terminate()
    }

    @Test("without a limit, or when the connection is lost, a write is sent until it is accepted")
    func persistence() async throws {
        for limit in [nil, 1] {
            let world = try World()
            var configuration = FirestoreConfiguration.inMemory
            configuration.maxWriteAttempts = limit
            let db = try world.database(configuration)
            let code: LarderError.Code = limit == nil ? .internal : .unavailable
            world.network.refuseWrites(with: [LarderError(code, "not now")])
            let write = db.document("a/x").enqueueSetData(["n": 1])
            try await write.acknowledged()
            #expect(try world.fields("a/x") == ["n": 1])
            #expect(try await db.deadLetters().isEmpty)
            try await db.terminate()
        }
    }

    @Test("a pending write lists its changes, attempts and last error")
    func pending() async throws {
        let world = try World()
        world.network.set(.down)
        let db = try world.database()
        let batch = db.batch()
        batch.setData(["a": ["b": 1]], forDocument: db.document("a/x"), merge: true)
        batch.updateData(["n": FieldValue.increment(Int64(2))], forDocument: db.document("a/x"))
        batch.deleteDocument(db.document("a/y"))
        try await batch.enqueueCommit().committedLocally()
        let write = try #require(try await db.pendingWrites().first)
        #expect(write.documents.map(\.path) == ["a/x", "a/y"])
        #expect(write.changes.map(\.kind) == [.merge, .update, .delete])
        #expect(write.changes[0].fields[FieldPath(["a", "b"])] as? Int == 1)
        #expect(write.changes[1].fields[FieldPath(["n"])] as? FieldValue == .increment(Int64(2)))
        #expect(write.changes[2].fields.isEmpty)
        for try await writes in db.pendingWriteUpdates {
            guard let write = writes.first, write.attemptCount > 0 else { continue }
            #expect(write.lastAttempt != nil)
            #expect(write.lastError == "the backend is out of reach")
            break
        }
        try await db.terminate()
    }
}
