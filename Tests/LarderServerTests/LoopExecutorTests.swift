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

    @Test("Who waits anywhere else goes on as well")
    func anywhere() async {
        let answer = await withLoopContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: 7) }
        }
        #expect(answer == 7)
    }
}
