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
            return (number, "hash \(number)")
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
        #expect(listens.answer(2) == .listen(a, disturbedHash: nil))
        #expect(listens.answer(2) == nil)
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

    @Test("A change of the content from elsewhere disturbs listens that are under way")
    func disturbance() {
        for path in ["", "a", "a/c"] {
            var listens = ServerListens()
            listens.add(a)
            listens.add(b)
            #expect(send(&listens, from: 1) == [a, b])
            listens.disturb(at: TreePath(path))
            #expect(listens.answer(1) == .listen(a, disturbedHash: "hash 1"))
            #expect(listens.answer(2) == .listen(b, disturbedHash: path.isEmpty ? "hash 2" : nil))
        }
    }

    @Test("Data of a listen may follow until its end is answered, and disturbs others")
    func endings() {
        let child = ServerListens.Key(QuerySpec(TreePath("a/c")), tag: nil)
        for isAnswered in [false, true] {
            var listens = ServerListens()
            listens.add(a)
            #expect(send(&listens, from: 1) == [a])
            #expect(true == listens.remove(a))
            listens.sentEnd(of: a, as: 2)
            if isAnswered { #expect(listens.answer(2) == .unlisten) }
            listens.add(child)
            #expect(send(&listens, from: 3) == [child])
            #expect(
                listens.answer(3) == .listen(child, disturbedHash: isAnswered ? nil : "hash 3"))
        }
    }

    @Test("A listen that restarts is sent when its end is answered")
    func restarts() {
        for key in [a, b] {
            var listens = ServerListens()
            listens.add(key)
            _ = send(&listens, from: 1)
            #expect(listens.answer(1) == .listen(key, disturbedHash: nil))
            listens.restart(key)
            #expect(listens.toRestart == [key] && listens.hasUnanswered)
            #expect(send(&listens, from: 2).isEmpty && !listens.isCurrent(key))
            listens.sentEnd(of: key, as: 2)
            #expect(listens.toRestart.isEmpty && listens.hasUnanswered)
            #expect(listens.answer(2) == .unlisten)
            #expect(send(&listens, from: 3) == [key])
            #expect(listens.answer(3) == .listen(key, disturbedHash: nil))
            #expect(listens.isCurrent(key) && !listens.hasUnanswered)
        }
    }

    @Test("A listen that restarts may end, or lose its connection")
    func endedRestart() {
        for isSent in [false, true] {
            for isLost in [false, true] {
                var listens = ServerListens()
                listens.add(a)
                _ = send(&listens, from: 1)
                _ = listens.answer(1)
                listens.restart(a)
                if isSent { listens.sentEnd(of: a, as: 2) }
                if isLost {
                    listens.disconnect()
                    #expect(listens.answer(2) == nil && send(&listens, from: 3) == [a])
                } else {
                    #expect(listens.remove(a) == !isSent)
                    #expect(listens.toRestart.isEmpty && !listens.hasUnanswered)
                    #expect(listens.answer(2) == (isSent ? .unlisten : nil))
                    #expect(send(&listens, from: 3).isEmpty && listens.isEmpty)
                }
            }
        }
    }
}
