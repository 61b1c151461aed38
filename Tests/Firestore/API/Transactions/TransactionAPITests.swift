import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Transactions through the API")
struct TransactionAPITests {
    private func count(_ document: DocumentReference) async throws -> Int? {
        try await document.getDocument(source: .cache).get("n") as? Int
    }

    @Test("A transaction returns the closure's result and commits its writes")
    func commits() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        document.enqueueSetData(["n": 1])
        let result = try await db.runTransaction { transaction, pointer in
            do {
                let old = try transaction.getDocument(document).get("n") as? Int ?? 0
                transaction.updateData(["n": old + 1], forDocument: document)
                transaction.setData(["copy": old], forDocument: db.document("a/y"))
                return old + 1
            } catch let error as NSError {
                pointer?.pointee = error
                return nil
            }
        }
        #expect(result as? Int == 2)
        #expect(try await count(document) == 2)
        #expect(try await db.document("a/y").getDocument().get("copy") as? Int == 1)
    }

    @Test("The closure runs on a thread of the database, not on the callback queue")
    func thread() async throws {
        let db = try memoryDatabase()
        let queue = db.settings.dispatchQueue
        let value: Any? = try await db.runTransaction { _, _ in
            dispatchPrecondition(condition: .notOnQueue(queue))
            return nil
        }
        #expect(value == nil)
        let finished = Recorder<String>()
        db.runTransaction({ _, _ in "done" }) { value, error in
            dispatchPrecondition(condition: .onQueue(queue))
            finished.record(value as? String ?? "\(String(describing: error))")
        }
        #expect(await finished.first(1) == ["done"])
    }

    @Test("All increments of concurrent transactions are applied: none starves")
    func contention() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/counter")
        document.enqueueSetData(["n": 0])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    _ = try await db.runTransaction { transaction, pointer in
                        do {
                            let old = try transaction.getDocument(document).get("n") as? Int ?? 0
                            transaction.updateData(["n": old + 1], forDocument: document)
                        } catch let error as NSError {
                            pointer?.pointee = error
                        }
                        return nil
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await count(document) == 50)
    }

    @Test("A document that changes meanwhile leads to retries, up to the limit")
    func retries() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        document.enqueueSetData(["n": 0])
        for (interferences, expected) in [(2, 3), (9, 4)] {
            let attempts = Recorder<Int>()
            let options = TransactionOptions()
            options.maxAttempts = 4
            let failure = await code {
                _ = try await db.runTransaction(with: options) { transaction, pointer in
                    do {
                        let old = try transaction.getDocument(document).get("n") as? Int ?? 0
                        attempts.record(old)
                        if attempts.elements.count <= interferences {
                            document.enqueueUpdateData(["n": FieldValue.increment(Int64(100))])
                        }
                        transaction.updateData(["n": old + 1], forDocument: document)
                    } catch let error as NSError {
                        pointer?.pointee = error
                    }
                    return nil
                }
            }
            #expect(attempts.elements.count == expected)
            #expect(failure == (interferences > 3 ? .aborted : nil))
        }
    }

    @Test("An error set by the closure ends the transaction, and nothing is written")
    func closureErrors() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        let attempts = Recorder<Int>()
        do {
            _ = try await db.runTransaction { transaction, pointer in
                attempts.record(1)
                transaction.setData(["n": 1], forDocument: document)
                pointer?.pointee = NSError(domain: "AppErrorDomain", code: -1)
                return nil
            }
            Issue.record("nothing was thrown")
        } catch let error as NSError {
            #expect(error.domain == "AppErrorDomain" && error.code == -1)
        }
        #expect(attempts.elements.count == 1)
        #expect(await code { _ = try await document.getDocument() } == .unavailable)
    }

    @Test("Misuse fails the transaction with an invalid argument")
    func misuse() async throws {
        let db = try memoryDatabase()
        let other = try memoryDatabase()
        let document = db.document("a/x")
        document.enqueueSetData(["n": 0])
        let misuses: [@Sendable (Transaction) -> Void] = [
            { transaction in  // a read after a write
                transaction.setData(["n": 1], forDocument: document)
                _ = try? transaction.getDocument(document)
            },
            { transaction in  // an update of what was read and not found
                _ = try? transaction.getDocument(db.document("a/none"))
                transaction.updateData(["n": 1], forDocument: db.document("a/none"))
            },
            { $0.setData(["": 1], forDocument: document) },
            { $0.deleteDocument(db.document("a")) },
            { $0.deleteDocument(other.document("a/x")) },
            { _ = try? $0.getDocument(db.document("a")) },
        ]
        for misuse in misuses {
            let failure = await code {
                _ = try await db.runTransaction { transaction, _ in
                    misuse(transaction)
                    return nil
                }
            }
            #expect(failure == .invalidArgument)
        }
        let options = TransactionOptions()
        options.maxAttempts = 0
        #expect(
            await code { _ = try await db.runTransaction(with: options) { _, _ in nil } }
                == .invalidArgument)
        #expect(try await count(document) == 0)
    }

    @Test("A transaction used after its closure has ended has no effect")
    func escaped() async throws {
        let db = try memoryDatabase()
        let document = db.document("a/x")
        document.enqueueSetData(["n": 0])
        let kept = Recorder<Transaction>()
        _ = try await db.runTransaction { transaction, _ in
            kept.record(transaction)
            return nil
        }
        let transaction = try #require(kept.elements.first)
        transaction.setData(["n": 1], forDocument: document)
        #expect(await code { _ = try transaction.getDocument(document) } == .failedPrecondition)
        #expect(try await count(document) == 0)
    }

    @Test("A transaction reads pending writes, and sets, merges and deletes like a batch")
    func writes() async throws {
        let db = try memoryDatabase()
        let (x, y) = (db.document("a/x"), db.document("a/y"))
        x.enqueueSetData(["n": 1])
        _ = try await db.runTransaction { transaction, _ in
            guard let old = try? transaction.getDocument(x) else { return nil }
            transaction.deleteDocument(x)
                .setData(["n": old.get("n") ?? 0], forDocument: y)
                .setData(["m": 2], forDocument: y, merge: true)
                .setData(["o": 3, "p": 4], forDocument: y, mergeFields: ["o"])
                .updateData(["q": 5], forDocument: y)
            return nil
        }
        #expect(try await !x.getDocument(source: .cache).exists)
        let data = try await y.getDocument().data() as? [String: Int]
        #expect(data == ["n": 1, "m": 2, "o": 3, "q": 5])
    }
}
