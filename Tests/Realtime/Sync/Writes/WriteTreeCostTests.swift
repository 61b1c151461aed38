import LarderCore
import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import Testing

#if DEBUG
    /// What writes of one location cost beside many others there: the written nodes that are looked at.
    @Suite("The cost of many pending writes of one location")
    struct WriteTreeCostTests {
        private let place = TreePath("counters/visits")
        private let count = 2_000

        private enum Kind: CaseIterable { case sets, increments, merges, mergedIncrements }

        private func change(_ kind: Kind, _ number: Int) throws -> PendingWrite.Change {
            let one = try Node(parsing: #"{".sv":{"increment":1}}"#)
            let node = Node(.integer(Int64(number)))
            return switch kind {
            case .sets: .overwrite(node)
            case .increments: .overwrite(one)
            case .merges:
                .merge([PathValue(TreePath("a"), node), PathValue(TreePath("b/c"), node)])
            case .mergedIncrements:
                .merge([PathValue(TreePath("a"), one), PathValue(TreePath("b/c"), one)])
            }
        }

        /// A tree with a listener of the location and many pending writes there.
        private func tree(_ kind: Kind) throws -> (tree: SyncTree, ids: [WriteID]) {
            var tree = SyncTree()
            _ = try tree.listen(to: QuerySpec(place), Listener(ListenerID(1), [.value]))
            _ = tree.serverOverwrite(place, .empty)
            var ids: [WriteID] = []
            for number in 0..<count {
                ids.append(tree.newWriteID())
                let write = PendingWrite(ids[number], at: place, try change(kind, number))
                _ = tree.write(write, at: 0)
            }
            return (tree, ids)
        }

        private func visits(_ body: () throws -> Void) rethrows -> Int {
            let visits = StepCount()
            try StepCount.$current.withValue(visits, operation: body)
            return visits.count
        }

        @Test("queueing looks at a few nodes for each write", arguments: Kind.allCases)
        private func queueing(_ kind: Kind) throws {
            let visits = try visits { _ = try tree(kind) }
            #expect(visits <= 8 * count)
        }

        @Test("acknowledging in order does", arguments: Kind.allCases)
        private func acknowledging(_ kind: Kind) throws {
            var (tree, ids) = try tree(kind)
            let visits = visits { for id in ids { _ = tree.acknowledge(id) } }
            #expect(visits <= 12 * count)
            #expect(tree.writes.count == 0)
        }

        @Test("so does refusing them in order, and taking them back", arguments: Kind.allCases)
        private func removing(_ kind: Kind) throws {
            for isReversed in [false, true] {
                var (tree, ids) = try tree(kind)
                if isReversed { ids.reverse() }
                let visits = visits { for id in ids { _ = tree.revert(id) } }
                #expect(visits <= 12 * count)
                #expect(tree.value(of: QuerySpec(place)) == .empty)
            }
        }

        @Test("so does removing them out of order")
        func removingOutOfOrder() throws {
            var (tree, ids) = try tree(.increments)
            let order = (0..<count).map { ids[$0 * 7 % count] }
            #expect(Set(order).count == count)
            let visits = visits { for id in order { _ = tree.acknowledge(id) } }
            #expect(visits <= 24 * count)
            #expect(tree.writes.count == 0)
        }
    }
#endif
