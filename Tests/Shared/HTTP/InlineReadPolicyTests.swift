import LarderCore
import LarderTestSupport
import NIOCore
import NIOPosix
import Testing

@testable import LarderHTTP

@Suite("Inline reads")
struct InlineReadPolicyTests {
    /// What happens to a thread, and how long that takes.
    private struct Happening {
        var time = Duration.zero
        var use = ThreadUsage()
        /// How often the system was asked.
        var questionCount = 0
    }

    private let state: Box<Happening>
    private let reads: InlineReadPolicy

    init() {
        let state = Box(Happening())
        let start = ContinuousClock.now
        self.state = state
        reads = InlineReadPolicy(
            usage: {
                state.withLock { state in
                    state.questionCount += 1
                    return state.use
                }
            },
            now: {
                start + state.withLock(\.time)
            })
    }

    /// Asks on an event loop for a read, in which something happens to the thread.
    ///
    /// - Returns: whether it was made.
    private func read(
        _ time: Duration = .microseconds(10), diskReads: Int = 0, preemptions: Int = 0
    ) async throws -> Bool {
        try await MultiThreadedEventLoopGroup.singleton.next().submit { () -> Bool in
            let made: Void? = try reads.run { () throws(LarderError) in
                state.withLock { state in
                    state.time += time
                    state.use.diskReads += diskReads
                    state.use.preemptions += preemptions
                }
            }
            return made != nil
        }.get()
    }

    @Test("Short reads are made on the event loop that asks, and nowhere but on one")
    func short() async throws {
        for _ in 0..<3 { #expect(try await read()) }
        #expect(state.withLock(\.questionCount) == 0)
        for _ in 0..<3 { #expect(try await read(.microseconds(900))) }
        #expect(try reads.run { () throws(LarderError) in 1 } == nil)
    }

    @Test("Thread usage is sampled only for reads after one that was not brief")
    func watches() async throws {
        for (time, count) in [(30, 0), (31, 0), (31, 2)] {
            #expect(try await read(.microseconds(time)))
            #expect(state.withLock(\.questionCount) == count)
        }
        for _ in 0..<110 { #expect(try await read()) }
        #expect(state.withLock(\.questionCount) == 202)
    }

    @Test("Reads in memory between those that wait for the disk do not hide these")
    func mixed() async throws {
        #expect(try await read(.milliseconds(1), diskReads: 1))
        #expect(try await read())
        #expect(try await read(.milliseconds(1), diskReads: 1))
        #expect(try await read() == false)
    }

    @Test(
        "Where reads wait for the disk, or are busy for long, others are made elsewhere for longer",
        arguments: [
            (Duration.milliseconds(2), 0, 0), (.microseconds(100), 1, 0), (.milliseconds(8), 1, 1),
        ])
    func long(time: Duration, diskReads: Int, preemptions: Int) async throws {
        // One may happen to be so.
        for _ in 0..<2 {
            #expect(try await read(time, diskReads: diskReads, preemptions: preemptions))
        }
        for _ in 0..<3 {
            #expect(try await read() == false)
            state.withLock { $0.time += time * 20 - .microseconds(1) }
            #expect(try await read() == false)
            state.withLock { $0.time += .microseconds(1) }
            // It is still watched.
            #expect(try await read(time, diskReads: diskReads, preemptions: preemptions))
        }
        #expect(try await read() == false)
    }

    @Test("One that had to give way to other threads does not")
    func preempted() async throws {
        for _ in 0..<3 { #expect(try await read(.milliseconds(8), preemptions: 1)) }
    }

    @Test("An error is rethrown, and its duration counts")
    func error() async throws {
        for _ in 0..<2 {
            await #expect(throws: LarderError.self) {
                try await MultiThreadedEventLoopGroup.singleton.next().submit {
                    try reads.run { () throws(LarderError) in
                        state.withLock { $0.time += .seconds(1) }
                        throw LarderError(.notFound, "nothing", domain: LarderError.sharedDomain)
                    }
                }.get()
            }
        }
        #expect(try await read() == false)
    }

    @Test("The system reports a thread's usage")
    func system() {
        let before = ThreadUsage.current
        let after = ThreadUsage.current
        #expect(after.diskReads >= before.diskReads && after.preemptions >= before.preemptions)
    }
}
