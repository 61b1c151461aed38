import Foundation
import Larder
import LarderModel
import LarderTestSupport
import Testing

@Suite("Documents over the wire", .timeLimit(.minutes(10)))
struct DocumentFeatureTests {
    @Test("are set, merged, updated, transformed and deleted", arguments: Site.all)
    func writing(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            let document = one.db.document("c/d")
            try await document.setData(["a": 1, "m": ["x": 1, "y": 2], "tags": ["p", "q"]])
            try await document.setData(["b": 2, "m": ["x": 5]], merge: true)
            try await document.updateData(["m.y": 9, "a": FieldValue.delete()])
            try await document.updateData([
                "n": FieldValue.increment(Int64(3)), "tags": FieldValue.arrayUnion(["r", "p"]),
                "at": FieldValue.serverTimestamp(),
            ])
            try await document.updateData([
                "n": FieldValue.increment(1.5), "tags": FieldValue.arrayRemove(["q"]),
            ])
            let seen = try await two.db.document("c/d").getDocument(source: .server)
            #expect(seen["b"] as? Int == 2 && seen["a"] == nil)
            #expect(seen["m.x"] as? Int == 5 && seen["m.y"] as? Int == 9)
            #expect(seen["n"] as? Double == 4.5 && seen["tags"] as? [String] == ["p", "r"])
            let age = -(try #require(seen["at"] as? Timestamp)).dateValue().timeIntervalSinceNow
            #expect(abs(age) < 300)
            #expect(try await document.getDocument().document?.record == seen.document?.record)
            try await document.delete()
            #expect(try await !two.db.document("c/d").getDocument(source: .server).exists)
            #expect(try await !document.getDocument(source: .server).exists)
            try await one.end()
            try await two.end()
        }
    }

    @Test("keep values of every type", arguments: Site.all)
    func values(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            let document = one.db.document("c/d")
            let fields: [String: Any] = [
                "null": NSNull(), "boolean": true, "integer": Int64.min, "double": -0.5,
                "nan": Double.nan, "infinity": Double.infinity, "text": "Grüße, \u{1F30D}\u{0}",
                "bytes": Data([0, 255]), "time": Timestamp(seconds: -5, nanoseconds: 1_000),
                "place": GeoPoint(latitude: -89.5, longitude: 179.5), "reference": document,
                "array": [1, ["k": []]] as [Any],
                "map": ["x": 1, "a.b": ["c": NSNull()]] as [String: Any],
                "vector": FieldValue.vector([1, 2.5]),
            ]
            try await document.setData(fields)
            let mine = try await document.getDocument(source: .cache)
            let theirs = try await two.db.document("c/d").getDocument(source: .server)
            #expect(theirs.document?.record == mine.document?.record)
            #expect(theirs.data()?.count == fields.count)
            try await one.end()
            try await two.end()
        }
    }

    @Test("are read from where the source says", arguments: Site.all)
    func sources(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            try await two.db.put(["a": 1])
            let document = one.db.document("c/a")
            #expect(await code { _ = try await document.getDocument(source: .cache) } != nil)
            #expect(try await document.getDocument(source: .server)["n"] as? Int == 1)
            try await two.db.put(["a": 2])
            #expect(try await document.getDocument()["n"] as? Int == 2)
            try await two.db.put(["a": 3])
            await ground.goOffline()
            #expect(try await document.getDocument(source: .cache)["n"] as? Int == 2)
            let cached = try await document.getDocument()
            #expect(cached["n"] as? Int == 2 && cached.metadata.isFromCache)
            #expect(
                await code { _ = try await document.getDocument(source: .server) }
                    == .unavailable)
            await ground.comeBack(one)
            #expect(try await document.getDocument(source: .server)["n"] as? Int == 3)
            try await one.end()
            try await two.end()
        }
    }

    @Test("of a batch are written together or not at all", arguments: Site.all)
    func batches(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            try await one.db.put(["a": 1, "b": 1])
            try await two.db.document("c/b").delete()
            func batch() -> WriteBatch {
                one.db.batch().updateData(["n": 2], forDocument: one.db.document("c/a"))
                    .updateData(["n": 2], forDocument: one.db.document("c/b"))
            }
            #expect(await code { try await batch().commit() } == .notFound)
            #expect(try await one.db.document("c/a").getDocument(source: .server)["n"] as? Int == 1)
            try await two.db.put(["b": 1])
            _ = try await one.db.document("c/b").getDocument(source: .server)
            try await batch().commit()
            let all = try await two.db.collection("c").getDocuments(source: .server)
            #expect(all.documents.map { $0["n"] as? Int } == [2, 2])
            try await one.end()
            try await two.end()
        }
    }

    @Test("of a write that is refused are as before, and it can be made again", arguments: Site.all)
    func deadLetters(site: Site) async throws {
        try await Ground.at(site) { ground in
            let directory = try TemporaryDirectory()
            let (one, two) = (try ground.client(directory), try ground.client(isDirect: true))
            try await one.db.put(["a": 1])
            await ground.goOffline()
            let refused = one.db.document("c/a").enqueueUpdateData(["n": 2])
            let next = one.db.document("c/b").enqueueSetData(["n": 3])
            _ = try await next.committedLocally()
            try await two.db.document("c/a").delete()
            await ground.comeBack(one)
            #expect(await code { try await refused.acknowledged() } == .notFound)
            try await next.acknowledged()
            let letters = try await one.db.deadLetters()
            #expect(letters.map(\.error.kind) == [.notFound])
            #expect(try await !one.db.document("c/a").getDocument(source: .server).exists)
            try await two.db.put(["a": 5])
            _ = try await one.db.document("c/a").getDocument(source: .server)
            try await one.db.retryDeadLetter(try #require(letters.first).id)?.acknowledged()
            #expect(try await two.db.document("c/a").getDocument(source: .server)["n"] as? Int == 2)
            #expect(try await one.db.deadLetters().isEmpty)
            try await one.end()
            try await two.end()
        }
    }
}
