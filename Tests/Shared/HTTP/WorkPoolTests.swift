import Dispatch
import LarderCore
import LarderTestSupport
import Testing

@testable import LarderHTTP

@Suite("Work pool")
struct WorkPoolTests {
    @Test("all work runs, and never more at a time than the limit")
    func limit() async throws {
        let pool = WorkPool("test", limit: 3)
        let state = Box((running: 0, most: 0, done: 0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<500 {
                group.addTask {
                    try await pool.run { () throws(LarderError) in
                        state.withLock {
                            $0.running += 1
                            $0.most = max($0.most, $0.running)
                        }
                        state.withLock {
                            $0.running -= 1
                            $0.done += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        state.withLock { #expect($0.most <= 3 && $0.done == 500) }
    }

    @Test("a pool of one thread runs its work in order")
    func order() async throws {
        let pool = WorkPool("test", limit: 1)
        let seen = Box<[Int]>([])
        for number in 0..<3_000 { pool.perform { seen.withLock { $0.append(number) } } }
        try await pool.run { () throws(LarderError) in }
        #expect(seen.withLock { $0 } == Array(0..<3_000))
    }

    @Test("work of a cancelled task is skipped")
    func cancelled() async {
        let pool = WorkPool("test", limit: 1)
        let isDone = Box(false)
        let gate = DispatchSemaphore(value: 0)
        pool.perform { gate.wait() }
        let task = Task {
            await asyncCode {
                try await pool.run { () throws(LarderError) in isDone.withLock { $0 = true } }
            }
        }
        task.cancel()
        gate.signal()
        #expect(await task.value == .cancelled && !isDone.withLock { $0 })
    }

}
