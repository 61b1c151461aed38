import Foundation
import Larder
import LarderBackend
import LarderModel
import LarderTestSupport
import Testing

/// transactions with a backend.
@Suite struct TransactionBackendTests {
    /// Counts a document's field on, as an application does.
    private func increment(
        _ document: DocumentReference, attempts: Recorder<Int> = Recorder()
    ) async throws {
        _ = try await document.firestore.runTransaction { transaction, pointer in
            attempts.record(attempts.elements.count + 1)
            do {
                let old = try transaction.getDocument(document).get("n") as? Int ?? 0
                transaction.setData(["n": old + 1], forDocument: document)
            } catch let error as NSError {
                pointer?.pointee = error
            }
            return nil
        }
    }

    @Test("it reads and commits at the server, bypassing cache and queue")
    func commits() async throws {
        let world = try World()
        try await world.set("a/x", ["n": 1])
        let db = try world.database()
        let document = db.document("a/x")
        let result = try await db.runTransaction { transaction, pointer in
            do {
                let snapshot = try transaction.getDocument(document)
                let other = try transaction.getDocument(db.document("a/y"))
                guard !snapshot.metadata.isFromCache, !other.exists else { return nil }
                transaction.updateData(["n": 2], forDocument: document)
                transaction.setData(["copy": true], forDocument: other.reference)
                return snapshot.get("n") as? Int
            } catch let error as NSError {
                pointer?.pointee = error
                return nil
            }
        }
        #expect(result as? Int == 1)
        #expect(try world.fields("a/x") == ["n": 2])
        #expect(try world.fields("a/y") == ["copy": true])
        #expect(try await db.pendingWrites().isEmpty)
        #expect(world.network.writtenBatchCount == 0)
        try await db.terminate()
    }

    @Test("concurrent transactions of two databases are all applied")
    func contention() async throws {
        let world = try World()
        let databases = [try world.database(), try world.database()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<6 {
                let document = databases[number % 2].document("a/counter")
                group.addTask {
                    let options = TransactionOptions()
                    options.maxAttempts = 50
                    _ = try await document.firestore.runTransaction(with: options) {
                        transaction, pointer in
                        do {
                            let old = try transaction.getDocument(document).get("n") as? Int ?? 0
                            transaction.setData(["n": old + 1], forDocument: document)
                        } catch let error as NSError {
                            pointer?.pointee = error
                        }
                        return nil
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try world.fields("a/counter") == ["n": 6])
        for db in databases { try await db.terminate() }
    }

    @Test("a document that changes meanwhile leads to a retry")
    func retries() async throws {
        let world = try World()
        try await world.set("a/x", ["n": 0])
        let db = try world.database()
        let document = db.document("a/x")
        let attempts = Recorder<Int>()
        _ = try await db.runTransaction { transaction, pointer in
            attempts.record(attempts.elements.count + 1)
            do {
                let old = try transaction.getDocument(document).get("n") as? Int ?? 0
                if old == 0 { try world.interfere("a/x", ["n": 10]) }
                transaction.updateData(["n": old + 1], forDocument: document)
            } catch let error as NSError {
                pointer?.pointee = error
            }
            return nil
        }
        #expect(attempts.elements == [1, 2])
        #expect(try world.fields("a/x") == ["n": 11])
        try await db.terminate()
    }

    @Test("denied requests and the closure's error end it immediately")
    func denied() async throws {
        let world = try World(rules: { request in
            switch request.operation {
            case .create(let path), .update(let path), .delete(let path):
                return .deny(reason: "\(path) is read only")
            default: return .allow
            }
        })
        let db = try world.database()
        let attempts = Recorder<Int>()
        #expect(
            await code { try await increment(db.document("a/x"), attempts: attempts) }
                == .permissionDenied)
        #expect(attempts.elements == [1])
        let mistake = NSError(domain: "the closure's own", code: 10)
        let failure = await code {
            _ = try await db.runTransaction { _, pointer in
                attempts.record(2)
                pointer?.pointee = mistake
                return nil
            }
        }
        #expect(failure == .aborted)
        #expect(attempts.elements == [1, 2])
        try await db.terminate()
    }

    @Test("offline it fails, at once when the network is disabled, and writes nothing")
    func offline() async throws {
        let world = try World()
        let db = try world.database()
        try await db.disableNetwork()
        let attempts = Recorder<Int>()
        let document = db.document("a/x")
        #expect(
            await code { try await increment(document, attempts: attempts) } == .unavailable)
        #expect(attempts.elements.isEmpty)
        try await db.enableNetwork()
        world.network.set(.down)
        let options = TransactionOptions()
        options.maxAttempts = 2
        let failure = await code {
            _ = try await db.runTransaction(with: options) { transaction, pointer in
                attempts.record(1)
                do {
                    _ = try transaction.getDocument(document)
                } catch let error as NSError {
                    pointer?.pointee = error
                }
                return nil
            }
        }
        #expect(failure == .unavailable)
        #expect(attempts.elements.count == 2)
        #expect(try world.fields("a/x") == nil)
        try await db.terminate()
    }

    @Test("terminating the database ends a waiting transaction")
    func terminated() async throws {
        let world = try World()
        world.network.set(.silent)
        let db = try world.database(wait: .atMost(.seconds(3600)))
        let attempts = Recorder<Int>()
        async let failure = code { try await increment(db.document("a/x"), attempts: attempts) }
        _ = await attempts.first(1)
        try await db.terminate()
        #expect(await failure == .failedPrecondition)
    }
}
