import Foundation
import Larder
import LarderGRPC
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@Suite("Calls of server programs over the wire", .timeLimit(.minutes(10)))
struct ServerCallFeatureTests {
    @Test("keep the laws of a remote", arguments: Site.all, RemoteLaw.ofDirectCalls)
    func laws(site: Site, law: RemoteLaw) async throws {
        try await Ground.at(site) { ground in
            let client = try ground.client(isDirect: true)
            try await law.check(
                client.cloud.connection.remote, DatabaseID(project: ground.project))
            try await client.end()
        }
    }

    @Test("write in bulk, each write by itself, and delete recursively", arguments: Site.all)
    func bulk(site: Site) async throws {
        try await Ground.at(site) { ground in
            let client = try ground.client()
            let db = client.db
            try await db.put(["old": 1])
            let writer = db.bulkWriter()
            for number in 0..<120 {
                writer.setData(["n": number], forDocument: db.document("c/d\(number)"))
            }
            let refused = writer.create(["n": 2], forDocument: db.document("c/old"))
            let deep = writer.setData(["n": 3], forDocument: db.document("c/d1/sub/x"))
            let deleted = writer.deleteDocument(db.document("c/d0"))
            await writer.close()
            #expect(await code { try await refused.result() } == .alreadyExists)
            #expect(try await deep.result().writeTime != nil)
            try await deleted.result()
            #expect(writer.progress.succeededCount == 122 && writer.progress.failedCount == 1)
            #expect(try await db.collection("c").getDocuments(source: .server).count == 120)
            #expect(try await db.recursiveDelete(db.collection("c")) == 121)
            #expect(try await db.listCollections().isEmpty)
            try await client.end()
        }
    }

    @Test("are unavailable offline", arguments: Site.all)
    func offline(site: Site) async throws {
        try await Ground.at(site) { ground in
            let client = try ground.client()
            let db = client.db
            try await db.put(["a": 1, "b": 2])
            _ = try await db.collection("c").getDocuments(source: .server)
            await ground.goOffline()
            #expect(await code { _ = try await db.listCollections() } == .unavailable)
            let query = db.collection("c").order(by: "n").offset(1)
            let cached = try await query.getDocuments()
            #expect(cached.ids == ["b"] && cached.metadata.isFromCache)
            try await client.end()
        }
    }
}
