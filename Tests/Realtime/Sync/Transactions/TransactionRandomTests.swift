import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import LarderSharedTestSupport
import Testing

@Suite("Transactions of several clients at random")
struct TransactionRandomTests {
    @Test("every committed transaction counts once, every other one not at all")
    func counters() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            var clients = [TransactionWorld(), TransactionWorld()]
            var server = Node.empty
            var started: [[(id: TransactionID, path: String)]] = [[], []]
            for _ in 0..<40 {
                let index = random.below(2)
                switch random.below(6) {
                case 0...2:
                    let path = random.pick(["a/x", "a/y", "a"])
                    let id = try clients[index].start(path, isVisible: !random.oneIn(4)) {
                        .output(path == "a" ? $0.bothPlusOne : $0.plusOne)
                    }
                    started[index].append((id, path))
                case 3, 4: answer(&clients[index], &server)
                default:
                    clients[index].server = server
                    if random.oneIn(3) {
                        clients[index].refuse(LarderError(realtime: .unavailable, "refused"))
                    } else {
                        clients[index].send("a")
                    }
                }
            }
            for index in clients.indices {
                var turns = 0
                while !clients[index].puts.isEmpty, turns < 1000 {
                    answer(&clients[index], &server)
                    turns += 1
                }
            }
            for (name, others) in [("x", "a/x"), ("y", "a/y")] {
                let committed = zip(clients, started).reduce(0) { sum, pair in
                    sum
                        + pair.1.filter {
                            ($0.path == others || $0.path == "a")
                                && pair.0.committed($0.id) != nil
                        }.count
                }
                let expected = committed == 0 ? Node.empty : Node(.integer(Int64(committed)))
                #expect(server.node(at: TreePath("a/\(name)")) == expected, "\(random)")
            }
            for (client, started) in zip(clients, started) {
                #expect(client.outcomes.count == started.count, "\(random)")
                #expect(
                    client.transactions.count == 0 && client.tree.writes.count == 0, "\(random)")
                #expect(client.saved.isEmpty, "\(random)")
            }
        }
    }

    private func answer(_ client: inout TransactionWorld, _ server: inout Node) {
        client.server = server
        client.answer()
        server = client.server
    }
}

extension Node {
    fileprivate var bothPlusOne: Node {
        let (x, y) = (ChildKey("x"), ChildKey("y"))
        return settingChild(x, to: child(x).plusOne).settingChild(y, to: child(y).plusOne)
    }
}
