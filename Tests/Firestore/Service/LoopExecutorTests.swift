import Dispatch
import NIOCore
import NIOPosix
import Testing

@testable import LarderServer

@Suite("Server: tasks on event loops")
struct LoopExecutorTests {
    @Test("A task goes on where it waited, whoever wakes it")
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

    @Test("A task that is woken from elsewhere goes on before what its loop is given afterwards")
    func order() async {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
        let heard = Box<[String]>([])
        let (waits, waiting) = AsyncStream.makeStream(of: LoopContinuation<Void>.self)
        let gate = DispatchSemaphore(value: 0)
        loop.execute {
            Task.immediate(executorPreference: executor) {
                await withLoopContinuation { _ = waiting.yield($0) }
                heard.withLock { $0.append("task") }
            }
        }
        for await continuation in waits {
            // Holds the loop until it has been given both.
            loop.execute { Self.wait(for: gate) }
            continuation.resume()
            let after = loop.submit { heard.withLock { $0.append("after") } }
            gate.signal()
            try? await after.get()
            break
        }
        #expect(heard.withLock { $0 } == ["task", "after"])
    }

    private static func wait(for gate: DispatchSemaphore) {
        gate.wait()
    }

    @Test("Who waits anywhere else goes on as well")
    func anywhere() async {
        let answer = await withLoopContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: 7) }
        }
        #expect(answer == 7)
    }
}
