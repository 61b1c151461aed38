import LarderRealtimeModel
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@testable import LarderRealtimeBackend

@Suite("Registered listens")
struct ListenRegistryTests {
    private func sessions(_ count: Int) -> [BackendSession] {
        (1...count).map {
            BackendSession(number: UInt64($0), id: "\($0)", channel: Channel { _ in })
        }
    }

    @Test("listens are found at their place, in the order of sessions and tags, and leave nothing")
    func random() {
        var random = SeededRandom()
        let registry = ListenRegistry()
        let sessions = sessions(5)
        var present: [(key: ListenKey, session: BackendSession)] = []
        for round in 0..<600 {
            if round < 300 || present.isEmpty {
                let query = QuerySpec(random.path(maximumDepth: 2), random.query()).normalized
                let key = ListenKey(query: query, tag: query.loadsAllData ? nil : random.below(5))
                let session = random.pick(sessions)
                if present.contains(where: { $0.key == key && $0.session === session }) { continue }
                registry.insert(key, of: session)
                present.append((key, session))
            } else {
                let (key, session) = present.remove(at: random.below(present.count))
                registry.remove(key, of: session)
                registry.remove(key, of: session)
            }
            guard round % 25 == 0 else { continue }
            let expected = present.sorted { left, right in
                (left.session.number, left.key.tag ?? -1) < (
                    right.session.number, right.key.tag ?? -1
                )
            }
            for query in Set(present.map(\.key.query)) {
                let found = listeners(of: query, in: registry)
                let wanted = expected.filter { $0.key.query == query }
                #expect(found.map(\.session.number) == wanted.map(\.session.number), "\(random)")
                #expect(found.map(\.tag) == wanted.map(\.key.tag), "\(random)")
            }
        }
        for (key, session) in present { registry.remove(key, of: session) }
        #expect(registry.root.children.isEmpty && registry.root.groups.isEmpty)
    }

    private func listeners(
        of query: QuerySpec, in registry: ListenRegistry
    ) -> [ListenRegistry.Listener] {
        var place = registry.root
        for key in query.path {
            guard let next = place.children[key] else { return [] }
            place = next
        }
        return place.groups[query.parameters]?.listeners ?? []
    }
}
