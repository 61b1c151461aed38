import LarderDocumentStore
import LarderModel
import LarderQuery
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderSync

@Suite("The part of a client in a shared store")
struct MultiClientTests {
    private let alice = UserID("alice")

    private func client(_ scan: ClientScan = Self.scan()) -> MultiClient {
        MultiClient(
            SharedJournal(clientID: "a", signal: SignalHub()), isForeground: true,
            usesNetwork: true, evicts: true, joined: scan)
    }

    private static func scan(
        had: Bool = false, has: Bool = false, network: NetworkState? = nil, lost: [String] = []
    ) -> ClientScan {
        ClientScan(
            hadLease: had, hasLease: has, nextLook: .seconds(4), commit: 7, network: network,
            lostClients: lost)
    }

    private func primary() -> MultiClient {
        var client = client(Self.scan(has: true))
        _ = client.start()
        client.becamePrimary(
            TargetRegistry([ClientRow(id: "b", time: .zero, targets: [2])]), at: 8)
        return client
    }

    @Test("A client that joins a store without a primary takes over the network")
    func becomesPrimary() {
        var client = client(Self.scan(has: true, lost: ["x"]))
        #expect(client.role == .secondary)
        let effects = client.start().names
        #expect(effects == ["lease 4.0 seconds", "run becomePrimary", "forget x", "evict"])
        let again = client.start()
        #expect(client.role == .owner && again.isEmpty)
        client.becamePrimary(TargetRegistry<Int32>(), at: 8)
        #expect(client.isPrimary && client.unsent.takesLease && client.othersCommit == 8)
    }

    @Test("A secondary client shows the network state of the primary")
    func secondary() {
        var client = client(Self.scan(network: NetworkState(.online, .answered)))
        let effects = client.start().names
        #expect(effects == ["lease 4.0 seconds", "show online", "evict"])
        #expect(client.role == .secondary)
    }

    @Test("A primary that renews its lease stays primary")
    func renews() {
        var client = primary()
        let effects = client.found(Self.scan(had: true, has: true))
        #expect(effects.names == ["lease 4.0 seconds", "evict"] && client.isPrimary)
    }

    @Test("A primary without its lease releases the network, once, with what only primaries share")
    func losesLease() {
        var client = primary()
        client.rejected(4, LarderError(.permissionDenied, "no"))
        let effects = client.lostLease().names
        #expect(effects == ["release network", "lease 0.0 seconds"])
        #expect(client.role == .secondary && client.others.all.isEmpty)
        #expect(client.unsent.rejections.isEmpty)
        let again = client.lostLease().names
        #expect(again == ["lease 0.0 seconds"])
    }

    @Test("A primary whose lease was taken and returned meanwhile takes over the network again")
    func losesLeaseMeanwhile() {
        var client = primary()
        let effects = client.found(Self.scan(has: true)).names
        #expect(
            effects == ["release network", "lease 4.0 seconds", "run becomePrimary", "evict"])
        #expect(client.role == .owner)
    }

    @Test("A primary skips the changes of another, and compares everything once it steps down")
    func skips() throws {
        var (client, change) = (primary(), SharedChange())
        change.targets[2] = SharedChange.Target(isCurrent: true)
        let skipped = client.skip(change)
        #expect(skipped?.names == ["lease 0.0 seconds"])
        let effects = client.lostLease().names
        #expect(effects == ["release network", "run resync", "lease 0.0 seconds"])
        let applied = client.skip(change)
        #expect(applied == nil)
    }

    @Test("A target is published when its first listener comes and when its last one has gone")
    func targets() {
        var client = client()
        client.note(target: 2)
        let none = client.collectTargets { _ in false }
        #expect(none.isEmpty)
        client.note(target: 2)
        let begun = client.collectTargets { _ in true }
        #expect(begun.names == ["run publish"])
        #expect(client.unsent.begunTargets == [2] && client.row(at: .zero).targets == [2])
        client.note(target: 2)
        _ = client.collectTargets { _ in false }
        #expect(client.unsent.isEmpty, "an unknown target need not be ended")
        client.note(target: 4)
        _ = client.collectTargets { _ in true }
        client.unsent = SharedChange()
        client.endTarget(4)
        #expect(client.unsent.endedTargets == [4])
    }

    @Test("The network state of a former primary stays until the new one's own state changes")
    func network() {
        let (online, unknown) = (
            NetworkState(.online, .answered), NetworkState(.unknown, .notAsked)
        )
        var client = client()
        var shown = client.merge(online, into: unknown)
        #expect(shown == unknown)
        client = primary()
        shown = client.merge(unknown, into: online)
        #expect(shown == online)
        #expect(client.unsent.network == nil)
        let offline = NetworkState(.offline, .notAsked)
        shown = client.merge(offline, into: online)
        #expect(shown == offline)
        #expect(client.unsent.network == offline)
    }

    @Test("A request to cancel is answered once, and repeated for its own user only")
    func cancellations() {
        var client = client()
        let answers = Mutex<[String]>([])
        func cancel(_ id: Int64, _ user: UserID) {
            client.cancel(id, of: user) { result in
                let wasCancelled = (try? result.get()) ?? false
                answers.withLock { $0.append("\(id) \(wasCancelled)") }
            }
        }
        cancel(1, alice)
        cancel(2, .unauthenticated)
        cancel(3, alice)
        client.answer(1, .success(true))
        client.answer(1, .success(false))
        client.unsent = SharedChange()
        client.repeatCancellations(of: alice)
        #expect(answers.withLock { $0 } == ["1 true", "2 false"])
        #expect(client.unsent.cancellations == [3] && client.unsent.user == alice)
        let taken = client.takeCancellations()
        #expect(taken.map(\.id) == [3] && client.unsent.cancellations.isEmpty)
        let rest = client.takeCancellations()
        #expect(rest.isEmpty)
    }

    @Test("A view loaded from a later commit has the changes up to it")
    func loadedViews() {
        var client = client()
        let view = ViewID(number: 1)
        client.loaded(view, from: 9)
        #expect(client.isLoaded(view, from: 9) && !client.isLoaded(view, from: 10))
        client.applied(9)
        #expect(!client.isLoaded(view, from: 9) && client.appliedCommit == 9)
        client.applied(8)
        #expect(client.appliedCommit == 9)
        client.resynced(12, loading: [view])
        #expect(client.appliedCommit == 12)
        let (first, second) = (client.takeStale(view), client.takeStale(view))
        #expect(first && !second)
    }
}

extension [MultiClient.Effect] {
    fileprivate var names: [String] {
        map { effect in
            switch effect {
            case .renewLease(let delay): "lease \(delay)"
            case .run(let task): "run \(task)"
            case .releaseNetwork: "release network"
            case .show(let network): "show \(network.state)"
            case .forget(let client): "forget \(client)"
            case .evictSurplus: "evict"
            }
        }
    }
}
