import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync
import Testing

@Suite("The outbox of requests")
struct RequestOutboxTests {
    private func put(_ name: String) -> RequestOutbox.Entry {
        RequestOutbox.Entry(.put(TreePath(name), Node(.integer(1)), hash: nil))
    }

    /// Sends all that may be sent, under numbers from one on.
    private func send(_ outbox: inout RequestOutbox, from first: Int = 1) -> [RequestOutbox.ID] {
        var number = first - 1
        var ids: [RequestOutbox.ID] = []
        while let next = outbox.next(number: {
            number += 1
            return number
        }) {
            ids.append(next.sending.id)
        }
        return ids
    }

    private func answer(
        _ outbox: inout RequestOutbox, _ number: Int, isWithheld: Bool = false
    ) -> [RequestOutbox.ID]? {
        outbox.answer(number, RealtimeResponse(.ok), isWithheld: isWithheld)?.map(\.id)
    }

    private let ok = RealtimeResponse(.ok)

    @Test("Puts and operations for the end of the connection keep their order")
    func order() {
        var outbox = RequestOutbox()
        let first = outbox.add(
            RequestOutbox.Entry(.onDisconnectPut(TreePath("a"), .empty)))
        let second = outbox.add(put("a"))
        let third = outbox.add(RequestOutbox.Entry(.onDisconnectCancel(TreePath("a"))))
        #expect(send(&outbox) == [first, second, third])
        #expect(send(&outbox).isEmpty)
        #expect(answer(&outbox, 1) == [first])
        #expect(answer(&outbox, 1) == nil)
        #expect(outbox.count == 2)
    }

    @Test("Unanswered requests are sent again in order, except those sent once")
    func disconnect() {
        var outbox = RequestOutbox()
        let first = outbox.add(put("a"))
        var once = put("b")
        once.isSentOnce = true
        let transaction = outbox.add(once)
        let third = outbox.add(put("c"))
        #expect(send(&outbox).count == 3)
        _ = outbox.answer(3, ok, isWithheld: false)
        let later = outbox.add(once)
        let (answers, lost) = outbox.disconnect()
        #expect(answers.isEmpty && lost == [transaction])
        #expect(send(&outbox, from: 4) == [first, later])
        #expect(third < later)
    }

    @Test("What was sent once is kept for a server with its names, and removed without it")
    func names() {
        var outbox = RequestOutbox()
        var once = put("b")
        once.isSentOnce = true
        let first = outbox.add(put("a"))
        let transaction = outbox.add(once)
        #expect(send(&outbox) == [first, transaction])
        let unsent = outbox.add(once)
        var lost = outbox.disconnect(namesID: "k").lost + outbox.removeUnknown(besides: "k")
        #expect(lost.isEmpty)
        #expect(send(&outbox, from: 3) == [first, transaction, unsent])
        lost = outbox.removeUnknown()
        #expect(lost.isEmpty, "what is on its way on this connection may be answered")
        outbox.takeBack(5)
        lost = outbox.disconnect(namesID: "k").lost
        #expect(lost.isEmpty)
        lost = outbox.removeUnknown(besides: "l")
        #expect(lost == [transaction])
        #expect(send(&outbox, from: 6) == [first, unsent])
        lost = outbox.disconnect(namesID: "l").lost
        #expect(lost.isEmpty)
        lost = outbox.removeUnknown()
        #expect(lost == [unsent])
        #expect(send(&outbox, from: 8) == [first])
    }

    @Test("Answers are withheld until all listens are answered, and precede a disconnection")
    func withholding() {
        var outbox = RequestOutbox()
        let ids = [outbox.add(put("a")), outbox.add(put("b")), outbox.add(put("c"))]
        _ = send(&outbox)
        #expect(answer(&outbox, 1, isWithheld: true) == [])
        #expect(answer(&outbox, 2, isWithheld: true) == [])
        #expect(outbox.count == 3)
        #expect(answer(&outbox, 3) == ids)
        #expect(outbox.isEmpty)
        let late = outbox.add(put("d"))
        _ = send(&outbox, from: 4)
        _ = outbox.answer(4, ok, isWithheld: true)
        let answers = outbox.disconnect().answers
        #expect(answers.map(\.id) == [late])
        #expect(send(&outbox, from: 5).isEmpty)
    }

    @Test("Only requests that were not sent are replaced or cancelled")
    func cancelling() {
        var outbox = RequestOutbox()
        let sent = outbox.add(put("a"))
        _ = send(&outbox)
        let waiting = outbox.add(put("b"))
        #expect(outbox.lastUnsent?.id == waiting)
        #expect(!outbox.cancel(sent) && outbox.isInFlight(sent))
        #expect(
            true == outbox.replace(waiting, with: .put(TreePath("b"), .empty, hash: nil)))
        #expect(outbox.cancel(waiting) && !outbox.cancel(waiting))
        #expect(outbox.lastUnsent == nil)
        let removed = outbox.removeAll().removed
        #expect(removed == [sent])
    }

    @Test("A request that was removed and is put back is sent in its place")
    func puttingBack() throws {
        var outbox = RequestOutbox()
        let ids = [outbox.add(put("a")), outbox.add(put("b")), outbox.add(put("c"))]
        let removed = outbox.remove(ids[0])
        let entry = try #require(removed)
        let isGone = outbox.remove(ids[0]) == nil
        #expect(isGone)
        #expect(send(&outbox) == [ids[1], ids[2]])
        #expect(answer(&outbox, 1) == [ids[1]])
        outbox.putBack(ids[0], entry)
        #expect(send(&outbox, from: 3) == [ids[0]])
        _ = outbox.disconnect()
        #expect(send(&outbox, from: 4) == [ids[0], ids[2]])
    }

    @Test("At most a thousand requests are unanswered at a time")
    func window() {
        var outbox = RequestOutbox()
        for number in 1...1_500 { _ = outbox.add(put("\(number)")) }
        #expect(send(&outbox).count == 1_000)
        for number in 1...500 { _ = outbox.answer(number, ok, isWithheld: false) }
        #expect(send(&outbox, from: 1_001).count == 500)
        #expect(outbox.count == 1_000)
    }
}
