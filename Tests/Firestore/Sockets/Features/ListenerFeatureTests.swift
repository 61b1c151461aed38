import Foundation
import Larder
import LarderNetworkTestSupport
import LarderTestSupport
import Testing

@Suite("Listeners over the wire", .timeLimit(.minutes(10)))
struct ListenerFeatureTests {
    @Test("receive documents added, modified, moved and removed by others", arguments: Site.all)
    func changes(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            try await two.db.put(["a": 1, "b": 2])
            var heard = one.db.collection("c").order(by: "n").everything
            let first = try await heard.settled(["a", "b"])
            #expect(first.documentChanges.map(\.type) == [.added, .added])
            try await two.db.put(["c": 0])
            let added = try await heard.settled(["c", "a", "b"])
            #expect(added.documentChanges.map(\.type) == [.added])
            #expect(added.documentChanges.map(\.newIndex) == [0])
            try await two.db.put(["a": 9])
            let moved = try await heard.settled(["c", "b", "a"])
            #expect(moved.documentChanges.map(\.type) == [.modified])
            #expect(moved.documentChanges.map { [$0.oldIndex, $0.newIndex] } == [[1, 2]])
            try await two.db.document("c/b").delete()
            let removed = try await heard.settled(["c", "a"])
            #expect(removed.documentChanges.map(\.type) == [.removed])
            #expect(removed.documentChanges.map(\.document.documentID) == ["b"])
            try await one.end()
            try await two.end()
        }
    }

    @Test("see writes at once, and again when the server has them", arguments: Site.all)
    func latency(site: Site) async throws {
        try await Ground.at(site) { ground in
            let one = try ground.client()
            var heard = one.db.collection("c").everything
            try await heard.settled([])
            one.db.document("c/a").enqueueSetData(["n": 1, "at": FieldValue.serverTimestamp()])
            let pending = try await heard.next { $0.ids == ["a"] }
            #expect(pending.metadata.hasPendingWrites && pending.documents[0]["at"] is NSNull)
            let settled = try await heard.settled(["a"])
            #expect(!(settled.documents[0]["at"] is NSNull))
            try await one.end()
        }
    }

    @Test("of one document receive its creation, changes and removal", arguments: Site.all)
    func document(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            var heard = one.db.document("c/a").snapshots.makeAsyncIterator()
            #expect(try await heard.next()?.exists == false)
            try await two.db.put(["a": 1])
            #expect(try await heard.next()?["n"] as? Int == 1)
            try await two.db.put(["a": 2])
            #expect(try await heard.next()?["n"] as? Int == 2)
            try await two.db.document("c/a").delete()
            #expect(try await heard.next()?.exists == false)
            try await one.end()
            try await two.end()
        }
    }

    @Test("go on from the cache without the network, and catch up", arguments: Site.all)
    func offline(site: Site) async throws {
        try await Ground.at(site) { ground in
            let directory = try TemporaryDirectory()
            let (one, two) = (try ground.client(directory), try ground.client(isDirect: true))
            try await two.db.put(["a": 1, "b": 2])
            var heard = one.db.collection("c").everything
            try await heard.settled(["a", "b"])
            try await one.db.disableNetwork()
            _ = try await heard.next { $0.metadata.isFromCache }
            let write = one.db.document("c/mine").enqueueSetData(["n": 3])
            let pending = try await heard.next { $0.ids == ["a", "b", "mine"] }
            #expect(pending.metadata.isFromCache && pending.metadata.hasPendingWrites)
            try await two.db.put(["theirs": 4])
            try await two.db.document("c/a").delete()
            try await one.db.enableNetwork()
            try await write.acknowledged()
            try await heard.settled(["b", "mine", "theirs"])
            let all = try await two.db.collection("c").getDocuments(source: .server)
            #expect(all.ids == ["b", "mine", "theirs"])
            try await one.end()
            try await two.end()
        }
    }

    @Test(
        "of a limited query lose documents that left it during a disconnection", arguments: Site.all
    )
    func limbo(site: Site) async throws {
        try await Ground.at(site) { ground in
            let (one, two) = (try ground.client(), try ground.client(isDirect: true))
            try await two.db.put(["a": 1, "b": 2, "c": 3, "d": 4])
            let numbers = one.db.collection("c").order(by: "n")
            var all = numbers.everything
            var least = numbers.limit(to: 2).everything
            var largest = numbers.limit(toLast: 2).everything
            try await all.settled(["a", "b", "c", "d"])
            try await least.settled(["a", "b"])
            try await largest.settled(["c", "d"])
            await ground.goOffline()
            _ = try await least.next { $0.metadata.isFromCache }
            try await two.db.put(["a": 9])
            try await two.db.document("c/d").delete()
            await ground.comeBack(one)
            try await least.settled(["b", "c"])
            try await largest.settled(["c", "a"])
            try await all.settled(["b", "c", "a"])
            let gone = try await one.db.document("c/d").getDocument(source: .cache)
            #expect(!gone.exists)
            try await one.end()
            try await two.end()
        }
    }

    @Test("detect deletes that were never reported", arguments: Site.all)
    func existenceFilters(site: Site) async throws {
        try await Ground.at(site) { ground in
            let directory = try TemporaryDirectory()
            let (one, two) = (try ground.client(directory), try ground.client(isDirect: true))
            let numbers = (0..<10).map { ("d\($0)", $0) }
            try await two.db.put(Dictionary(uniqueKeysWithValues: numbers))
            do {
                // The query goes, with what it knows, and its documents stay in the cache.
                var heard = one.db.collection("c").everything
                try await heard.settled(numbers.map(\.0))
            }
            for (id, number) in numbers where number.isMultiple(of: 2) {
                try await two.db.document("c/\(id)").delete()
            }
            var heard = one.db.collection("c").everything
            try await heard.settled(["d1", "d3", "d5", "d7", "d9"])
            let cached = try await one.db.collection("c").getDocuments(source: .cache)
            #expect(cached.ids == ["d1", "d3", "d5", "d7", "d9"])
            try await one.end()
            try await two.end()
        }
    }

    @Test("go on in another process where they were", arguments: Site.all)
    func restart(site: Site) async throws {
        try await Ground.at(site) { ground in
            let directory = try TemporaryDirectory()
            let (one, two) = (try ground.client(directory), try ground.client(isDirect: true))
            try await two.db.put(["a": 1, "b": 2, "c": 3])
            var heard = one.db.collection("c").everything
            try await heard.settled(["a", "b", "c"])
            await ground.goOffline()
            one.db.document("c/mine").enqueueSetData(["n": 7])
            _ = try await heard.next { $0.ids.contains("mine") }
            try await one.end()
            try await two.db.put(["b": 5, "d": 4])
            try await two.db.document("c/a").delete()
            await ground.proxy.heal()

            let again = try ground.client(directory)
            var second = again.db.collection("c").order(by: "n").everything
            let cached = try await second.next { _ in true }
            #expect(cached.ids == ["a", "b", "c", "mine"] && cached.metadata.isFromCache)
            try await second.settled(["c", "d", "b", "mine"])
            try await again.end()
            try await two.end()
        }
    }
}
