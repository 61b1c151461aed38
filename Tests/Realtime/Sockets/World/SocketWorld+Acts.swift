import Foundation
import LarderNetworkTestSupport
import LarderRealtime
import LarderSharedTestSupport

extension SocketWorld {
    /// What is done in a world.
    private enum Act: CaseIterable {
        case write, increment, transaction, listen, removeListener, get
        case cut, cutSoon, hold, release, strand, deliver, swallow, refuse, healNetwork
        case goOffline, goOnline, restartClient, stopServer, startServer, breathe
    }

    /// The acts, the common ones several times.
    private static let acts =
        Act.allCases + Array(repeating: .write, count: 8) + Array(repeating: .increment, count: 4)
        + Array(repeating: .listen, count: 3) + Array(repeating: .breathe, count: 4)
        + [.transaction, .transaction, .healNetwork, .healNetwork, .goOnline, .startServer]

    /// Does something.
    func act() async throws {
        let client = random.pick(clients)
        let act = random.pick(Self.acts)
        note("\(client.number) \(act)")
        switch act {
        case .write: write(client)
        case .increment: increment(client)
        case .transaction: runTransaction(client)
        case .listen: client.listen(to: random.pick(SocketQuestion.allCases))
        case .removeListener: client.removeListener(&random)
        case .get:
            let query = random.pick(SocketQuestion.allCases).query(client.database)
            tasks.append(Task { _ = try? await query.getData() })
        case .cut: await client.proxy.cut()
        case .cutSoon: await client.proxy.cut(after: 1 + random.below(2_000), .oneWay(&random))
        case .hold: await client.proxy.hold(.oneWay(&random))
        case .release: await client.proxy.release()
        case .strand: await client.proxy.strand(after: random.below(200))
        case .deliver: await client.proxy.deliver()
        case .swallow: await client.proxy.swallow(Proxy.Direction.oneWayOrBoth(&random))
        case .refuse: await client.proxy.refuse()
        case .healNetwork: await client.proxy.heal()
        case .goOffline: client.database.goOffline()
        case .goOnline: client.database.goOnline()
        case .restartClient: if client.isPersistent { try await client.restart() }
        case .stopServer: try await server.stop()
        case .startServer: if !server.isRunning { try await server.start() }
        case .breathe: try await breathe()
        }
    }

    /// A client that is not behind a proxy reads: time passes in which the network does something.
    private func breathe() async throws {
        guard server.isRunning else { return }
        let witness = try SocketClient.opened(port: server.port, isWitness: true)
        _ = try await witness.reference(withPath: "sum").getData()
        try await witness.close()
    }

    // MARK: Writes

    private func makeNumber() -> Int {
        writes.append(writes.count + 1)
        return writes.count
    }

    /// An update that leaves a child of its own behind, and changes others.
    private func write(_ client: SocketClient) {
        let number = makeNumber()
        var values: [String: Any] = ["log/w\(number)": number]
        for _ in 0...random.below(3) {
            let id = random.below(8)
            if random.oneIn(6) {
                values["c/k\(id)"] = NSNull()
            } else {
                values["c/k\(id)"] = ["w": number, "n": random.below(20)]
            }
        }
        client.database.reference().updateChildValues(values)
    }

    private func increment(_ client: SocketClient) {
        let number = makeNumber()
        incrementCount += 1
        client.database.reference().updateChildValues([
            "log/w\(number)": number, "sum": ServerValue.increment(1),
        ])
    }

    private func runTransaction(_ client: SocketClient) {
        let (counter, counts) = (client.database.reference(withPath: "counter"), transactions)
        counts.noteBegin()
        tasks.append(
            Task {
                let result = try? await counter.runTransactionBlock { data in
                    data.value = (data.value as? Int ?? 0) + 1
                    return .success(withValue: data)
                }
                if result?.0 == true { counts.noteCommit() }
            })
    }
}
