import Foundation
import Larder
import LarderBackend
import LarderGRPC
import LarderModel
import LarderRemote
import LarderTestSupport
import LarderWire
import Testing

@Suite("A database over sockets", .timeLimit(.minutes(10)))
struct EndToEndTests {
    private static func database(
        _ cloud: CloudFirestore, _ configuration: FirestoreConfiguration = .inMemory
    ) throws -> Firestore {
        var configuration = configuration
        configuration.project = TestServer.project
        configuration.backend = cloud.connection
        // However slow the machine is.
        configuration.serverWait = .atMost(.seconds(300))
        return try Firestore(configuration: configuration)
    }

    private static func number(_ server: TestServer, _ path: String) throws -> Value? {
        try server.backend.document(at: try DocumentPath(path))?.fields["n"]
    }

    @Test("offline writes are acknowledged once there is a server")
    func offlineWrites() async throws {
        let server = try await TestServer.started()
        await server.stop()
        let directory = try TemporaryDirectory()
        let first = try server.client()
        let offline = try Self.database(
            first, FirestoreConfiguration(directory: directory.file("store")))
        for number in 0..<25 {
            let handle = offline.document("c/d\(number)").enqueueSetData(["n": number])
            _ = try await handle.committedLocally()
        }
        let cached = try await offline.collection("c").getDocuments()
        #expect(cached.count == 25 && cached.metadata.isFromCache)
        #expect(cached.metadata.hasPendingWrites)
        try await offline.terminate()
        await first.close()

        try await server.restart()
        let second = try server.client()
        let online = try Self.database(
            second, FirestoreConfiguration(directory: directory.file("store")))
        try await online.waitForPendingWrites()
        for number in 0..<25 {
            #expect(try Self.number(server, "c/d\(number)") == .integer(Int64(number)))
        }
        let fresh = try await online.collection("c").getDocuments(source: .server)
        #expect(fresh.count == 25 && !fresh.metadata.hasPendingWrites)
        try await online.terminate()
        await second.close()
        try await server.close()
    }

    @Test("a connection that is cut while writes are made loses none and makes none twice")
    func cutWhileWriting() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let db = try Self.database(cloud)
        let counter = db.document("c/counter")
        try await counter.setData(["n": 0])
        var acknowledged = 0
        for round in 0..<3 {
            let handles = (0..<10).map { number in
                db.document("c/d\(round)-\(number)").enqueueSetData(["n": number])
            }
            // The first is with the server; of the others any number is on its way.
            try await handles[0].acknowledged()
            await server.stop()
            let late = db.document("c/late\(round)").enqueueSetData(["n": round])
            _ = try await late.committedLocally()
            try await server.restart()
            db.reconnect()
            for handle in handles + [late] { try await handle.acknowledged() }
            acknowledged += handles.count + 1
        }
        #expect(acknowledged == 33)
        let all = try await db.collection("c").getDocuments(source: .server)
        #expect(all.count == acknowledged + 1)
        for round in 0..<3 {
            #expect(try Self.number(server, "c/late\(round)") == .integer(Int64(round)))
            for number in 0..<10 {
                let path = "c/d\(round)-\(number)"
                #expect(try Self.number(server, path) == .integer(Int64(number)))
            }
        }
        try await db.terminate()
        await cloud.close()
        try await server.close()
    }

    @Test("a listener receives changes of others, including those during a disconnection")
    func listening() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let db = try Self.database(cloud)
        let (snapshots, feed) = AsyncStream.makeStream(of: [String: Int].self)
        let listener = db.collection("c").whereField("n", isGreaterThan: 0)
            .addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
                guard let snapshot, !snapshot.metadata.isFromCache else { return }
                feed.yield(
                    Dictionary(
                        uniqueKeysWithValues: snapshot.documents.map {
                            ($0.documentID, $0.data()["n"] as? Int ?? -1)
                        }))
            }
        try await Self.wait(snapshots, for: [:])
        try await Self.commit(server, ["a": 1, "b": 2, "no": -1])
        try await Self.wait(snapshots, for: ["a": 1, "b": 2])
        await server.stop()
        try await Self.commit(server, ["a": 0, "b": 3, "c": 4])
        try await server.restart()
        db.reconnect()
        try await Self.wait(snapshots, for: ["b": 3, "c": 4])
        // It went on where it was.
        let last = server.listenRequests.value.last { $0.addTarget.targetID > 0 }
        #expect(last?.addTarget.resumeToken.isEmpty == false)
        listener.remove()
        try await db.terminate()
        await cloud.close()
        try await server.close()
    }

    @Test("transactions and figures go over the wire")
    func transactions() async throws {
        let server = try await TestServer.started()
        let cloud = try server.client()
        let db = try Self.database(cloud)
        try await Self.commit(server, ["a": 1, "b": 2])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    _ = try await db.runTransaction { transaction, _ in
                        guard
                            let document = try? transaction.getDocument(db.document("c/a")),
                            let number = document.data()?["n"] as? Int
                        else { return nil }
                        transaction.updateData(["n": number + 1], forDocument: document.reference)
                        return nil
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try Self.number(server, "c/a") == 5)
        let figures = try await db.collection("c").aggregate([.count(), .sum("n")])
            .getAggregation(source: .server)
        #expect(figures.count == 2 && figures.get(.sum("n")) as? Int == 7)
        try await db.terminate()
        await cloud.close()
        try await server.close()
    }

    /// Makes documents as another client does.
    private static func commit(_ server: TestServer, _ numbers: [String: Int64]) async throws {
        let mutations = try numbers.map { id, number in
            Mutation(
                .set(try Record(["n": .integer(number)])), at: try DocumentPath("c/\(id)"))
        }
        _ = try await withCheckedContinuation { continuation in
            server.backend.connection.remote.commit(mutations, as: Credentials()) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    private static func wait(
        _ snapshots: AsyncStream<[String: Int]>, for expected: [String: Int]
    ) async throws {
        for await snapshot in snapshots where snapshot == expected { return }
        Issue.record("the listener has ended")
    }
}
