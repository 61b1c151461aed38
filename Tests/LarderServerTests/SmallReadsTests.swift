import LarderModel
import NIOCore
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
        reads = SmallReads(use: { use.withLock { $0 } })
    }

    /// Asks on an event loop for a read, in which something happens to the thread.
    ///
    /// - Returns: whether it was made.
    private func read(_ happens: @escaping @Sendable (inout ThreadUse) -> Void = { _ in })
        async throws -> Bool
    {
        try await MultiThreadedEventLoopGroup.singleton.next().submit {
            try reads.run { () throws(LarderError) in use.withLock { happens(&$0) } } != nil
        }.get()
    }

    @Test("Short reads are made on the event loop that asks, and nowhere but on one")
    func short() async throws {
        for _ in 0..<3 {
            #expect(
                try await read { $0.time += .microseconds(900) })
        }
        #expect(try reads.run { () throws(LarderError) in 1 } == nil)
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

    @Test("An error is told, and the time that it took counts")
    func error() async throws {
        await #expect(throws: LarderError.self) {
            try await MultiThreadedEventLoopGroup.singleton.next().submit {
                try reads.run { () throws(LarderError) in
                    use.withLock { $0.time += .seconds(1) }
                    throw LarderError(.notFound, "nothing")
                }
            }.get()
        }
        #expect(try await read() == false)
    }

    @Test("The system tells what happens to a thread")
    func system() {
        let before = ThreadUse.current
        let after = ThreadUse.current
        #expect(after.time >= before.time && after.diskReads >= before.diskReads)
        #expect(after.preemptions >= before.preemptions)
    }
}
