import BenchmarkMeasuring
import LarderRealtimeModel

/// The hash of a location after one change, in comparison with hashing all of it.
struct ChangedHashes {
    let figures: Figures
    /// The count of leaves.
    let count: Int

    func callAsFunction(rounds: Int) {
        measure("tree-hash.flat", rounds, scores) { number in
            TreePath([Self.scoreKey(number * 7919 % count)])
        }
        measure("tree-hash.rooms", rounds, rooms) { number in
            let message = number * 7919 % (count / 5)
            return TreePath([
                Self.roomKey(message / 100), Self.messageKey(message), ChildKey("likes"),
            ])
        }
    }

    private func measure(
        _ row: String, _ rounds: Int, _ make: () -> Node, place: (Int) -> TreePath
    ) {
        let changes = 20
        for round in 0..<rounds {
            var node = make()
            var hashes = 0
            figures.measure(row, .reference, units: 1) { hashes += node.hash.utf8.count }
            figures.measure(row, .larder, units: changes) {
                for change in 0..<changes {
                    let leaf = Node(.integer(Int64(1_000_000 + change)))
                    node = node.setting(place(round * changes + change), to: leaf)
                    hashes += node.hash.utf8.count
                }
            }
            precondition(hashes > changes, "no hashes")
        }
    }

    // MARK: Nodes

    /// Numbers in one location.
    private func scores() -> Node {
        Node(
            children: (0..<count).map {
                Child(Self.scoreKey($0), Node(.integer(Int64($0 * 7919 % count))))
            })
    }

    /// Rooms of 100 messages of five leaves.
    private func rooms() -> Node {
        let messages = (0..<count / 5).map(message)
        let rooms = stride(from: 0, to: messages.count, by: 100).map { first in
            Child(
                Self.roomKey(first / 100),
                Node(
                    children: (first..<min(first + 100, messages.count)).map {
                        Child(Self.messageKey($0), messages[$0])
                    }))
        }
        return Node(children: rooms)
    }

    private func message(_ number: Int) -> Node {
        let time = 1_760_000_000_000 + Int64(number) * 977
        return Node(children: [
            Child(ChildKey("author"), Node(.string("user\(number % 500)"))),
            Child(ChildKey("edited"), Node(.boolean(number % 10 == 0))),
            Child(ChildKey("likes"), Node(.integer(Int64(number % 100)))),
            Child(ChildKey("text"), Node(.string(String(repeating: "word ", count: 22)))),
            Child(ChildKey("time"), Node(.integer(time))),
        ])
    }

    private static func scoreKey(_ number: Int) -> ChildKey { ChildKey("p\(100_000 + number)") }
    private static func roomKey(_ number: Int) -> ChildKey { ChildKey("r\(1_000 + number)") }
    private static func messageKey(_ number: Int) -> ChildKey {
        ChildKey("-O\(1_000_000 + number)")
    }
}
