import Foundation
import Larder
import LarderTestSupport
import Testing

@Suite("Transactions over the wire", .timeLimit(.minutes(10)))
struct TransactionFeatureTests {
    @Test("that contend for a document are made one after the other", arguments: Site.all)
    func contention(site: Site) async throws {
        try await Ground.at(site) { ground in
            let clients = try (0..<4).map { _ in try ground.client() }
            try await clients[0].db.put(["counter": 0])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in clients {
                    group.addTask {
                        for _ in 0..<5 { try await Self.count(client.db) }
                    }
                }
                try await group.waitForAll()
            }
            let counter = try await clients[0].db.document("c/counter").getDocument(source: .server)
            #expect(counter["n"] as? Int == 20)
            for client in clients { try await client.end() }
        }
    }

    /// Adds one to a counter.
    private static func count(_ db: Firestore) async throws {
        let options = TransactionOptions()
        options.maxAttempts = 100
        _ = try await db.runTransaction(with: options) { transaction, error in
            do {
                let counter = db.document("c/counter")
                let count = try transaction.getDocument(counter)["n"] as? Int ?? 0
                transaction.updateData(["n": count + 1], forDocument: counter)
            } catch let failure as NSError {
                error?.pointee = failure
            }
            return nil
        }
    }

    @Test("see missing documents as missing, and commit atomically", arguments: Site.all)
    func atomicity(site: Site) async throws {
        try await Ground.at(site) { ground in
            let one = try ground.client()
            let (db, missing) = (one.db, one.db.document("c/missing"))
            let existed = try await db.runTransaction { transaction, _ in
                let exists = (try? transaction.getDocument(missing))?.exists
                transaction.setData(["n": 1], forDocument: missing)
                transaction.setData(["n": 2], forDocument: db.document("c/other"))
                return exists
            }
            #expect(existed as? Bool == false)
            let refusal = await code {
                _ = try await db.runTransaction { transaction, error in
                    transaction.deleteDocument(missing)
                    error?.pointee = NSError(domain: "test", code: 7)
                    return nil
                }
            }
            #expect(refusal?.rawValue == 7)
            let all = try await db.collection("c").getDocuments(source: .server)
            #expect(all.ids == ["missing", "other"])
            try await one.end()
        }
    }

    @Test("fail without the network", arguments: Site.all)
    func offline(site: Site) async throws {
        try await Ground.at(site) { ground in
            let one = try ground.client()
            let options = TransactionOptions()
            options.maxAttempts = 1
            await ground.goOffline()
            let document = one.db.document("c/a")
            let refusal = await code {
                _ = try await one.db.runTransaction(with: options) { transaction, error in
                    do {
                        _ = try transaction.getDocument(document)
                    } catch let failure as NSError {
                        error?.pointee = failure
                    }
                    return nil
                }
            }
            #expect(refusal == .unavailable)
            try await one.end()
        }
    }
}
