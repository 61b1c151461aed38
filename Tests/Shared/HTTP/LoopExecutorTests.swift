import Dispatch
import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import LarderHTTP

@Suite("Tasks on event loops")
struct LoopExecutorTests {
    @Test("a task continues on the event loop where it suspended, whichever thread resumes it")
    func home() async {
        let executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
        let places = await Task(executorPreference: executor) {
            var places = [MultiThreadedEventLoopGroup.currentEventLoop.map { ObjectIdentifier($0) }]
            for number in 0..<20 {
                let answer = await withLoopContinuation { continuation in
                    DispatchQueue.global().async { continuation.resume(returning: number) }
                }
                #expect(answer == number)
                places.append(
                    MultiThreadedEventLoopGroup.currentEventLoop.map { ObjectIdentifier($0) })
            }
            return places
        }.value
        #expect(places.first != .some(nil) && Set(places).count == 1)
    }

    @Test("a task resumed from another thread runs before later work of its loop")
    func order() async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
        let seen = Box<[String]>([])
        let (waits, waiting) = AsyncStream.makeStream(of: LoopContinuation<Void>.self)
        let gate = DispatchSemaphore(value: 0)
        loop.execute {
            Task.immediate(executorPreference: executor) {
                await withLoopContinuation { _ = waiting.yield($0) }
                seen.withLock { $0.append("task") }
            }
        }
        for await continuation in waits {
            // Blocks the loop until both are enqueued.
            loop.execute { Self.wait(for: gate) }
            continuation.resume()
            let after = loop.submit { seen.withLock { $0.append("after") } }
            gate.signal()
            try? await after.get()
            break
        }
        #expect(seen.withLock { $0 } == ["task", "after"])
    }

    private static func wait(for gate: DispatchSemaphore) {
        gate.wait()
    }

    @Test("a task off any event loop continues as well")
    func anywhere() async {
        let answer = await withLoopContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: 7) }
        }
        #expect(answer == 7)
    }
}

@Suite("Events on event loops")
struct LoopEventsTests {
    @Test("the listener is called once for waiting events, and takes them in order")
    func order() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let events = LoopEvents<Int>(loop)
        let callCount = Box(0)
        events.add(0)
        events.listen { callCount.withLock { $0 += 1 } }
        for number in 1...3 { events.add(number) }
        await loop.run()
        #expect(callCount.withLock { $0 } == 1)
        #expect(events.take() == [1, 2, 3])
        events.add(4)
        await loop.run()
        #expect(callCount.withLock { $0 } == 2)
        events.close()
        events.add(5)
        await loop.run()
        #expect(callCount.withLock { $0 } == 2 && events.take().isEmpty)
    }
}
