import CLarder
import Foundation
import LarderCore
import Synchronization

/// Keeps an environment open while calls are under way, and ends it once none is.
///
/// Calls are counted in several places, one for each of several threads, so that reads on
/// different threads share no cache line.
final class EnvironmentLifetime: @unchecked Sendable {
    // The counters are atomic; everything else is protected by the mutex or immutable.

    typealias ClosedHandler = @Sendable (Result<Void, LarderError>) -> Void

    private struct Ending {
        var isClosed = false
        var handlers: [ClosedHandler] = []
    }

    private let environment: OpaquePointer
    private let errorDomain: String
    /// The context of the log callback, which is called also while the environment is closed.
    private let logContext: AnyObject?
    private let ending = Mutex(Ending())
    private let counters: UnsafeMutablePointer<Atomic<UInt64>>

    private static let counterCount = 8
    /// Counters lie this far apart, two cache lines, since processors fetch lines in pairs.
    private static let spacing = 16
    /// In a counter: no new call may begin.
    private static let isEnding: UInt64 = 1 << 63

    init(_ environment: OpaquePointer, logContext: AnyObject?, errorDomain: String) {
        self.errorDomain = errorDomain
        self.environment = environment
        self.logContext = logContext
        counters = .allocate(capacity: Self.counterCount * Self.spacing)
        for position in 0..<Self.counterCount * Self.spacing {
            (counters + position).initialize(to: Atomic(0))
        }
    }

    deinit {
        // No call is in progress: every call retains this object.
        if !ending.withLock({ $0.isClosed }) { larder_env_close(environment, nil) }
        counters.deinitialize(count: Self.counterCount * Self.spacing)
        counters.deallocate()
    }

    /// Runs a closure with the environment, which stays open meanwhile.
    func use<R: ~Copyable>(
        _ body: (OpaquePointer) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        let counter = counters + Self.counter(of: currentThread)
        let count = counter.pointee.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
        defer {
            let left = counter.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing)
            if left.newValue == Self.isEnding { endIfIdle() }
        }
        guard count & Self.isEnding == 0 else {
            throw LarderError(
                .failedPrecondition, "the store is closed", condition: .transactionEnded,
                domain: errorDomain)
        }
        return try body(environment)
    }

    #if os(Linux) && !canImport(Musl)
        private var currentThread: UInt { pthread_self() }
    #else
        private var currentThread: UInt { UInt(bitPattern: pthread_self()) }
    #endif

    /// A thread's counter, by the address that identifies the thread.
    private static func counter(of thread: UInt) -> Int {
        // Threads lie far apart in memory: the low bits of their addresses are alike.
        let hash = UInt64(thread) &* 0x9e37_79b9_7f4a_7c15
        return Int(hash >> 61) * spacing
    }

    /// Closes the environment unless calls are under way.
    func close() throws(LarderError) {
        let failure = ending.withLock { ending -> LarderError? in
            if ending.isClosed { return nil }
            setEnding(true)
            guard isIdle else {
                if ending.handlers.isEmpty { setEnding(false) }
                return LarderError(status: Int32(LARDER_E_BUSY), domain: errorDomain)
            }
            let failure = closeEnvironment(&ending)
            if failure != nil { setEnding(false) }
            return failure
        }
        if let failure { throw failure }
        endIfIdle()
    }

    /// Refuses new calls from now on, and closes the environment once none is in progress.
    func closeWhenIdle(_ handler: @escaping ClosedHandler) {
        ending.withLock { $0.handlers.append(handler) }
        setEnding(true)
        endIfIdle()
    }

    private func endIfIdle() {
        let ended = ending.withLock { ending -> (LarderError?, [ClosedHandler]) in
            guard !ending.handlers.isEmpty, isIdle else { return (nil, []) }
            let failure = ending.isClosed ? nil : closeEnvironment(&ending)
            defer { ending.handlers = [] }
            return (failure, ending.handlers)
        }
        for handler in ended.1 {
            handler(ended.0.map { .failure($0) } ?? .success(()))
        }
    }

    private var isIdle: Bool {
        (0..<Self.counterCount).allSatisfy {
            (counters + $0 * Self.spacing).pointee.load(ordering: .acquiring) == Self.isEnding
        }
    }

    private func setEnding(_ isEnding: Bool) {
        for position in 0..<Self.counterCount {
            let counter = counters + position * Self.spacing
            if isEnding {
                counter.pointee.bitwiseOr(Self.isEnding, ordering: .acquiringAndReleasing)
            } else {
                counter.pointee.bitwiseAnd(~Self.isEnding, ordering: .acquiringAndReleasing)
            }
        }
    }

    private func closeEnvironment(_ ending: inout Ending) -> LarderError? {
        var failure = larder_error()
        let status = larder_env_close(environment, &failure)
        guard status == .ok else { return error(of: status, failure, errorDomain) }
        ending.isClosed = true
        return nil
    }
}
