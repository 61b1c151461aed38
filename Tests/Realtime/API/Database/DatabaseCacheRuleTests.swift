import Foundation
import LarderCore
import LarderRealtime
import LarderSharedTestSupport
import Testing

@Suite("Cache rules in the API")
struct DatabaseCacheRuleTests {
    /// The message of the error that setting rules throws; nil if it throws none.
    private func message(
        _ client: DatabaseUnderTest, _ rules: [DatabaseCacheRule]
    ) async -> String? {
        await client.wait { database in
            do throws(DatabaseError) {
                try await database.setCacheRules(rules)
                return nil
            } catch {
                return error.kind == .invalidArgument ? error.localizedDescription : "\(error.kind)"
            }
        }
    }

    private func usage(_ client: DatabaseUnderTest) async throws -> [DatabaseCacheRuleUsage] {
        try #require(await client.wait { try? await $0.cacheRuleUsage() })
    }

    /// Observes a location until the server has sent it.
    private func fetch(_ world: DatabaseWorld, _ client: DatabaseUnderTest, _ path: String) {
        let reference = client.database.reference(withPath: path)
        let handle = client.observe(reference, [.value])[0]
        _ = world.read(client)
        reference.removeObserver(withHandle: handle)
        world.drain()
    }

    @Test("rules are set, listed with what is cached, and hold after reopening")
    func rules() async throws {
        let world = DatabaseWorld(.disk)
        for path in ["menus/today", "menus/old", "tokens/a", "other"] {
            try world.put(path, .string("content"))
        }
        let client = try world.client(named: "phone")
        let rules = [
            DatabaseCacheRule("/menus/", isPinned: true),
            DatabaseCacheRule("menus/old"),
            DatabaseCacheRule("tokens", isNeverCached: true),
            DatabaseCacheRule("", maximumBytes: 1 << 20, maximumAge: .seconds(86_400)),
        ]
        #expect(await message(client, rules) == nil)
        for path in ["menus/today", "menus/old", "tokens/a", "other"] {
            fetch(world, client, path)
        }
        let usages = try await usage(client)
        #expect(usages.map(\.rule.path) == ["menus", "menus/old", "tokens", ""])
        #expect(usages.map(\.trackedQueryCount) == [1, 1, 0, 1])
        #expect(usages[0].rule.isPinned && usages[2].rule.isNeverCached)
        #expect(usages[3].rule.maximumBytes == 1 << 20)
        #expect(usages[3].rule.maximumAge == .seconds(86_400))
        #expect(usages[3].sizeBytes > 0)
        world.close(client)

        let again = try world.client(named: "phone") { $0.startsOffline = true }
        #expect(try await usage(again).map(\.rule) == usages.map(\.rule))
        let report = await again.wait { try? await $0.evict() }
        #expect(report?.evictedQueryCount == 2)
        again.observe(
            again.database.reference(withPath: "menus/today"), as: "menus", [.value])
        again.observe(again.database.reference(withPath: "other"), as: "other", [.value])
        #expect(world.read(again) == [#"menus value "content""#])
        world.close(again)

        let third = try world.client(named: "phone") { $0.cacheRules = [] }
        #expect(try await usage(third).isEmpty)
        // With that of the observer above.
        #expect(await third.wait { try? await $0.evict() }?.evictedQueryCount == 2)
    }

    @Test("a local-only location is the device's, with every call of a reference")
    func localOnly() async throws {
        let world = DatabaseWorld(.disk)
        let client = try world.client(named: "phone") {
            $0.cacheRules = [DatabaseCacheRule("drafts", isLocalOnly: true)]
        }
        let drafts = client.database.reference(withPath: "drafts")
        client.observe(drafts, as: "drafts", [.value])
        client.observe(client.database.reference(), as: "root", [.value])
        _ = world.read(client)
        let write = drafts.child("a").enqueueSetValue(["n": 1])
        let id = await client.wait { _ in try? await write.committedLocally() }
        #expect(id == .some(nil) && write.id == nil)
        #expect(await client.wait { _ in try? await write.cancel() } == false)
        drafts.child("a").enqueueUpdateChildValues(["n": ServerValue.increment(2), "t": "x"])
        #expect(
            world.read(client) == [
                #"drafts value {"a":{"n":1}}"#, #"drafts value {"a":{"n":3,"t":"x"}}"#,
            ])
        #expect(try #require(await client.wait { try? await $0.pendingWrites() }).isEmpty)
        let snapshot = try #require(
            await client.wait { _ in try? await drafts.child("a/n").getData() })
        #expect(snapshot.value as? Int == 3)
        let outcome = await client.wait { _ in
            try? await drafts.child("a/n").runTransactionBlock { data in
                data.value = (data.value as? Int ?? 0) + 1
                return .success(withValue: data)
            }
        }
        #expect(outcome?.0 == true && outcome?.1.value as? Int == 4)
        let refused = await client.wait { database -> DatabaseError? in
            do {
                try await database.reference().setValue(["drafts": ["a": 1]])
                return nil
            } catch {
                return error as? DatabaseError
            }
        }
        #expect(refused?.kind == .invalidArgument)
        #expect(refused?.localizedDescription.contains("/drafts, which is local only") == true)
        world.close(client)

        let again = try world.client(named: "phone")
        again.observe(again.database.reference(withPath: "drafts"), as: "drafts", [.value])
        #expect(world.read(again) == [#"drafts value {"a":{"n":4,"t":"x"}}"#])
        #expect(try await usage(again).map(\.rule.isLocalOnly) == [true])
        let other = try world.client(named: "other")
        other.observe(other.database.reference(), as: "root", [.value])
        #expect(world.read(other) == ["root value null"])
    }

    @Test("bad rules are errors, when they are set and when a database is opened")
    func badRules() async throws {
        let client = try DatabaseUnderTest(.memory)
        #expect(await message(client, [DatabaseCacheRule("a", isPinned: true)]) == nil)
        let bad: [([DatabaseCacheRule], String)] = [
            ([DatabaseCacheRule("a", maximumBytes: -5)], "-5 bytes"),
            ([DatabaseCacheRule("a", maximumAge: .zero)], "at least 1 second"),
            ([DatabaseCacheRule("a[0]")], "'/a[0]' is invalid"),
            ([DatabaseCacheRule(".info")], "/.info"),
            ([DatabaseCacheRule("a"), DatabaseCacheRule("/a")], "two cache rules for /a"),
            (
                [DatabaseCacheRule("a", isPinned: true, isNeverCached: true)],
                "both pinned and never"
            ),
            (
                [DatabaseCacheRule("a", isLocalOnly: true), DatabaseCacheRule("a/b")],
                "/a/b lies below /a, which is local only"
            ),
            ((0...256).map { DatabaseCacheRule("\($0)") }, "257 cache rules"),
        ]
        for (rules, part) in bad {
            #expect(await message(client, rules)?.contains(part) == true, "\(part)")
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseUnderTest(.memory) { $0.cacheRules = rules }
            }
            #expect(
                error?.kind == .invalidArgument
                    && error?.localizedDescription.contains(part) == true)
        }
        #expect(try await usage(client).map(\.rule.path) == ["a"])
        client.close()
        #expect(await message(client, []) == "\(LarderError.Code.failedPrecondition)")
    }

    @Test("a database that keeps no cache has no rules")
    func withoutCache() async throws {
        let client = try DatabaseUnderTest(.memoryWithoutUnused)
        #expect(
            await message(client, [DatabaseCacheRule("a")])
                == "\(LarderError.Code.failedPrecondition)")
        #expect(try await usage(client).isEmpty)
        #expect(throws: DatabaseError.self) {
            try DatabaseUnderTest(.memoryWithoutUnused) {
                $0.cacheRules = [DatabaseCacheRule("a")]
            }
        }
    }
}
