import LarderRealtimeModel
import LarderRealtimeSync
import Testing

@Suite("The listens at the server")
struct ServerListensTests {
    private let a = ServerListens.Key(QuerySpec(TreePath("a")), tag: nil)
    private let b = ServerListens.Key(QuerySpec(TreePath("b")), tag: 1)

    private func send(_ listens: inout ServerListens, from first: Int) -> [ServerListens.Key] {
        var (number, keys) = (first - 1, [ServerListens.Key]())
        listens.send { key in
            number += 1
            keys.append(key)
            return number
        }
        return keys
    }

    @Test("Listens are sent in order, answered, and sent again on the next connection")
    func answers() {
        var listens = ServerListens()
        listens.add(b)
        listens.add(a)
        listens.add(b)
        #expect(send(&listens, from: 1) == [b, a])
        #expect(listens.hasUnanswered && !listens.isCurrent(b))
        #expect(listens.answer(2) == a && listens.answer(2) == nil)
        #expect(listens.isCurrent(a) && listens.hasUnanswered)
        listens.disconnect()
        #expect(!listens.isCurrent(a) && !listens.hasUnanswered)
        #expect(send(&listens, from: 3) == [b, a])
        #expect(listens.answer(1) == nil, "an answer to the last connection")
    }

    @Test("Data without a tag is expected at, below and above listens that load all data")
    func expectedData() {
        var listens = ServerListens()
        listens.add(b)
        #expect(!listens.expectsData(at: TreePath("b"), tag: nil))
        #expect(listens.expectsData(at: TreePath("b"), tag: 1))
        listens.add(ServerListens.Key(QuerySpec(TreePath("a/c")), tag: nil))
        for path in ["", "a", "a/c", "a/c/d"] {
            #expect(listens.expectsData(at: TreePath(path), tag: nil))
        }
        #expect(!listens.expectsData(at: TreePath("a/d"), tag: nil))
    }

    @Test("Listens that the server knows are ended there")
    func removal() {
        var listens = ServerListens()
        listens.add(a)
        #expect(!listens.remove(a) && !listens.remove(a))
        #expect(send(&listens, from: 1).isEmpty && listens.isEmpty)
        listens.add(b)
        #expect(send(&listens, from: 1) == [b])
        #expect(true == listens.remove(b))
        #expect(listens.answer(1) == nil && !listens.hasUnanswered)
    }
}
