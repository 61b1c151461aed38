import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite("Backpressured queue")
struct BackpressuredQueueTests {
    @Test("every element is taken once and in order, with any limit")
    func inOrder() async throws {
        let queue = BackpressuredQueue<Int>(maxBytes: 10, timeout: .seconds(600))
        let pool = WorkPool("test", limit: 1)
        pool.perform {
            queue.finish(
                Result { () throws(LarderError) in
                    for number in 0..<1_000 { try queue.append(number, bytes: 4) }
                })
        }
        var taken: [Int] = []
        while let numbers = try await queue.take() {
            #expect(numbers.count <= 2)
            taken += numbers
        }
        #expect(taken == Array(0..<1_000))
    }

    @Test("an element above the limit passes alone")
    func large() async throws {
        let queue = BackpressuredQueue<Int>(maxBytes: 10, timeout: .zero)
        try queue.append(1, bytes: 1_000)
        let stalled: LarderError.Code? = code { () throws in try queue.append(2, bytes: 1) }
        #expect(stalled == .deadlineExceeded)
        #expect(try await queue.take() == [1])
    }

    @Test("the producer does not wait for a cancelled consumer")
    func left() {
        let queue = BackpressuredQueue<Int>(maxBytes: 1, timeout: .seconds(600))
        queue.cancel()
        #expect(code { try queue.append(1, bytes: 1) } == .cancelled)
    }

    @Test("a waiting consumer is resumed by cancellation")
    func leftWhileTaking() async {
        let queue = BackpressuredQueue<Int>(maxBytes: 1, timeout: .seconds(600))
        let taking = Task { () -> LarderError.Code? in
            await asyncCode { try await queue.take() }
        }
        queue.cancel()
        #expect(await taking.value == .cancelled)
    }

    @Test("the producer's error follows its elements")
    func failure() async throws {
        let queue = BackpressuredQueue<Int>(maxBytes: 10, timeout: .zero)
        try queue.append(1, bytes: 1)
        queue.finish(.failure(LarderError(.dataLoss, "damaged", domain: LarderError.sharedDomain)))
        #expect(try await queue.take() == [1])
        #expect(await asyncCode { try await queue.take() } == .dataLoss)
    }
}
