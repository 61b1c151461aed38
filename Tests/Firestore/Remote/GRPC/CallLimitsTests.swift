import Dispatch
import GRPCCore
import LarderCore
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderGRPC

@Suite("The limits of a call", .timeLimit(.minutes(10)))
struct CallLimitsTests {
    private let deadlines = Deadlines(DispatchQueue(label: "test"))

    private func limits(_ connectTimeout: Duration, _ timeout: Duration?) -> CallLimits {
        CallLimits(deadlines, connectTimeout: connectTimeout, timeout: timeout)
    }

    /// Waits until the task is cancelled.
    @Sendable private static func wait() async throws {
        let isCancelled = Awaited(false)
        await withTaskCancellationHandler {
            await isCancelled.wait { $0 }
        } onCancel: {
            isCancelled.change { $0 = true }
        }
        throw CancellationError()
    }

    @Test("end one that does not get on its way")
    func connecting() async {
        let limits = limits(.milliseconds(1), .seconds(3600))
        let error = await #expect(throws: RPCError.self) { try await limits.during(Self.wait) }
        #expect(error?.code == .unavailable)
        #expect(!limits.isOnItsWay)
    }

    @Test("end one that takes too long once it is on its way")
    func late() async {
        let limits = limits(.seconds(3600), .milliseconds(1))
        let error = await #expect(throws: RPCError.self) {
            try await limits.during {
                limits.begin()
                try await Self.wait()
            }
        }
        #expect(error?.code == .deadlineExceeded)
    }

    @Test("a call without a time limit is not cancelled, and its result is returned")
    func unlimited() async throws {
        let limits = limits(.milliseconds(1), nil)
        let others = Awaited(false)
        limits.begin()
        let answer = try await limits.during {
            // The limit until it was on its way would be over before this one.
            _ = deadlines.after(.milliseconds(5)) { others.change { $0 = true } }
            await others.wait { $0 }
            return 7
        }
        #expect(answer == 7)
    }

    @Test("errors are rethrown, and cancelling the caller cancels the call")
    func thrown() async throws {
        let limits = limits(.seconds(3600), nil)
        let error = await #expect(throws: RPCError.self) {
            try await limits.during { throw RPCError(code: .aborted, message: "no") }
        }
        #expect(error?.code == .aborted)
        let begun = Awaited(false)
        let waiting = Task {
            try await self.limits(.seconds(3600), nil).during {
                begun.change { $0 = true }
                try await Self.wait()
            }
        }
        await begun.wait { $0 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
