import CLarder
public import Foundation
public import LarderModel
import Synchronization

/// Documents, pending mutations, overlays, targets and indexes in one file, read and written
/// through scoped transactions.
///
/// Every call blocks its thread: a write until its turn comes and the disk has it, a read for
/// as long as its closure runs. Do not call from Swift's cooperative thread pool where a commit
/// may take milliseconds. Any thread may call, several at once; reads never wait for a writer.
///
/// One process opens a store once: share the object. See ``StoreConfiguration/Access`` for
/// several processes.
public final class Store: @unchecked Sendable {
    // The core's environment may be used by any threads at once; the mutex guards its lifetime.

    private typealias ClosedHandler = @Sendable (Result<Void, LarderError>) -> Void

    private struct State {
        var environment: OpaquePointer?
        var useCount = 0
        /// What is called when the last call under way has ended and the store is closed.
        var onClose: [ClosedHandler] = []
    }

    private let state: Mutex<State>
    private let logContext: LogContext?

    /// The directory that the store lies in; nil for a store in memory.
    public let directory: String?

    /// How deep maps and arrays in a document may be nested.
    public let maxDepth: Int

    /// What a document may count towards the document size limit, in bytes.
    public let maxDocumentBytes: Int64

    /// Opens a store, and makes it where there is none unless the configuration says otherwise.
    ///
    /// Blocks for the disk. Stale readers of processes that ended are cleaned up.
    ///
    /// - Throws: `failedPrecondition` with the condition `alreadyOpen`, `locked`,
    ///   `networkFileSystem`, `newerFormat` or `foreignFile`; `notFound` with `noStore`;
    ///   `permissionDenied`; `dataLoss` for a damaged store; `invalidArgument` for a
    ///   configuration out of range; `unavailable` or `resourceExhausted` from the system.
    public init(_ configuration: StoreConfiguration) throws(LarderError) {
        var options = try configuration.options()
        let context = configuration.log.map(LogContext.init)
        if let context {
            options.log = LogContext.function
            options.log_context = Unmanaged.passUnretained(context).toOpaque()
        }
        var environment: OpaquePointer?
        try call { failure in
            configuration.path.withCString {
                larder_env_open($0, &options, &environment, failure)
            }
        }
        logContext = context
        maxDepth = configuration.maxDepth
        maxDocumentBytes = configuration.maxDocumentBytes
        directory =
            configuration.location == .memory
            ? nil : environment.map { String(cString: larder_env_path($0)) }
        state = Mutex(State(environment: environment))
    }

    /// Opens a store in a directory with the defaults of ``StoreConfiguration``.
    ///
    /// - Throws: as ``init(_:)``.
    public convenience init(directory: String) throws(LarderError) {
        try self.init(StoreConfiguration(directory: directory))
    }

    deinit {
        // Nothing is under way: whatever is holds the store.
        state.withLock { _ = larder_env_close($0.environment, nil) }
    }

    /// Closes the store; later calls fail.
    ///
    /// The last reference does so by itself. Closing twice does nothing.
    ///
    /// - Throws: `failedPrecondition` with the condition `busy` while transactions or other
    ///   calls are under way; the store is then still open.
    public func close() throws(LarderError) {
        let result = state.withLock { state -> Result<Void, LarderError> in
            guard state.useCount == 0 else {
                return .failure(LarderError(status: Int32(LARDER_E_BUSY)))
            }
            return Self.close(&state)
        }
        if case .failure(let failure) = result { throw failure }
    }

    /// Refuses calls from now on, and closes the store once those under way have ended.
    ///
    /// Does not block; the closure is called on the thread that ends the last call, or on this
    /// one.
    public func closeWhenIdle(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        let isIdle = state.withLock { state in
            state.onClose.append(completion)
            return state.useCount == 0
        }
        if isIdle { closeIdle() }
    }

    /// Closes the store if that was asked for and nothing is under way.
    private func closeIdle() {
        let closed = state.withLock { state -> (Result<Void, LarderError>, [ClosedHandler]) in
            guard state.useCount == 0, !state.onClose.isEmpty else { return (.success(()), []) }
            defer { state.onClose = [] }
            return (Self.close(&state), state.onClose)
        }
        for completion in closed.1 { completion(closed.0) }
    }

    private static func close(_ state: inout State) -> Result<Void, LarderError> {
        var failure = larder_error()
        let status = larder_env_close(state.environment, &failure)
        guard status == .ok else { return .failure(error(of: status, failure)) }
        state.environment = nil
        return .success(())
    }

    /// Runs a closure with the environment, which stays open meanwhile.
    func withEnvironment<R: ~Copyable>(
        _ body: (OpaquePointer) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        let environment = try acquire()
        defer { release() }
        return try body(environment)
    }

    private func release() {
        let isLast = state.withLock { state in
            state.useCount -= 1
            return state.useCount == 0 && !state.onClose.isEmpty
        }
        if isLast { closeIdle() }
    }

    private func acquire() throws(LarderError) -> OpaquePointer {
        let address = state.withLock { state -> Int in
            guard let environment = state.environment, state.onClose.isEmpty else { return 0 }
            state.useCount += 1
            return Int(bitPattern: environment)
        }
        guard let environment = OpaquePointer(bitPattern: address) else {
            throw LarderError(
                .failedPrecondition, "the store is closed", condition: .transactionEnded)
        }
        return environment
    }
}

/// Keeps the closure that the core logs through.
private final class LogContext: Sendable {
    let log: @Sendable (StoreConfiguration.LogLevel, String) -> Void

    init(_ log: @escaping @Sendable (StoreConfiguration.LogLevel, String) -> Void) {
        self.log = log
    }

    static let function: larder_log_function = { context, level, message in
        guard let context, let message else { return }
        let logger = Unmanaged<LogContext>.fromOpaque(context).takeUnretainedValue()
        logger.log(
            StoreConfiguration.LogLevel(rawValue: level) ?? .debug, String(cString: message))
    }
}
