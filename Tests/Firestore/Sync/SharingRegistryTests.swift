import LarderSync
import LarderTestSupport
import Testing

@Suite("The targets that other clients want")
struct SharingRegistryTests {
    @Test("A target is wanted as long as somebody wants it")
    func equalsModel() {
        var random = SeededRandom()
        var registry = TargetRegistry()
        var model: [String: Set<Int32>] = [:]
        for _ in 0..<5_000 {
            let client = random.pick(["a", "b", "c"])
            let ids = Set((0..<random.below(4)).map { _ in Int32(random.below(8)) })
            switch random.below(4) {
            case 0, 1:
                registry.begin(ids, of: client)
                model[client, default: []].formUnion(ids)
            case 2:
                registry.end(ids, of: client)
                model[client, default: []].subtract(ids)
            default:
                let id = Int32(random.below(8))
                registry.forget(id)
                for client in model.keys { model[client]?.remove(id) }
            }
            let all = model.values.reduce(into: Set()) { $0.formUnion($1) }
            #expect(registry.all == all, "\(random)")
            #expect((0..<8).allSatisfy { registry.wants($0) == all.contains($0) })
            #expect(registry.targets(of: client) == model[client] ?? [], "\(random)")
        }
    }

    @Test("It begins with what the clients' rows say")
    func rows() {
        let registry = TargetRegistry([
            ClientRow(id: "a", time: .zero, targets: [2, 4]),
            ClientRow(id: "b", time: .zero, targets: [4]),
        ])
        #expect(registry.all == [2, 4])
        #expect(registry.targets(of: "b") == [4])
    }
}
