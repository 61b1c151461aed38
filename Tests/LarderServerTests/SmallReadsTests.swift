import LarderModel
import NIOPosix
import Testing

@testable import LarderServer

@Suite("Server: where few documents are read")
struct SmallReadsTests {
    private let use: Box<ThreadUse>
    private let reads: SmallReads

    init() {
        let use = Box(ThreadUse())
        self.use = use
        reads = SmallReads(WorkPool("test", limit: 1), use: { use.withLock { $0 } })
    }

    private var isOnLoop: Bool { MultiThreadedEventLoopGroup.currentEventLoop != nil }

    /// Reads on an event loop, in which something happens to the thread.
    ///
    /// - Returns: whether it was read there.
    private func read(_ happens: @escaping @Sendable (inout ThreadUse) -> Void = { _ in })
        async throws -> Bool
    {
        let executor = LoopExecutor(MultiThreadedEventLoopGroup.singleton)
        return try await Task(executorPreference: executor) {
            let wasOnLoop = try await reads.run { () throws(LarderError) in
                use.withLock { happens(&$0) }
                return isOnLoop
            }
            #expect(isOnLoop)
            return wasOnLoop
        }.value
    }

    @Test("Short reads are made on the event loop that asks, and nowhere but on one")
    func short() async throws {
        for _ in 0..<3 {
            #expect(
                try await read { $0.time += .microseconds(900) })
        }
        #expect(try await reads.run { () throws(LarderError) in isOnLoop } == false)
    }

    @Test("One that waits for the disk, or is busy for long, sends others elsewhere for longer")
    func long() async throws {
        let happenings: [(Duration, @Sendable (inout ThreadUse) -> Void)] = [
            (.milliseconds(2), { _ in }),
            (.microseconds(100), { $0.diskReads += 1 }),
            (
                .milliseconds(8),
                {
                    $0.diskReads += 1
                    $0.preemptions += 1
                }
            ),
        ]
        for (duration, happens) in happenings {
            #expect(
                try await read {
                    $0.time += duration
                    happens(&$0)
                })
            #expect(try await read() == false)
            use.withLock { $0.time += duration * 20 - .microseconds(1) }
            #expect(try await read() == false)
            use.withLock { $0.time += .microseconds(1) }
            #expect(try await read())
        }
    }

    @Test("One that had to give way to other threads does not")
    func preempted() async throws {
        #expect(
            try await read {
                $0.time += .milliseconds(8)
                $0.preemptions += 1
            })
        #expect(try await read())
    }

    @Test("An error is told, wherever it was thrown", arguments: [true, false])
    func error(isShort: Bool) async throws {
        if !isShort { _ = try await read { $0.time += .seconds(1) } }
        await #expect(throws: LarderError.self) {
            try await Task(executorPreference: LoopExecutor(MultiThreadedEventLoopGroup.singleton))
            {
                try await reads.run { () throws(LarderError) in
                    throw LarderError(.notFound, "nothing")
                }
            }.value
        }
    }

    @Test("The system tells what happens to a thread")
    func system() {
        let before = ThreadUse.current
        let after = ThreadUse.current
        #expect(after.time >= before.time && after.diskReads >= before.diskReads)
        #expect(after.preemptions >= before.preemptions)
    }
}
