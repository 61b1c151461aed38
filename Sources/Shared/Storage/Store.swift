import CLarder
public import Foundation
public import LarderCore

/// A transactional store in one file, read and written through scoped transactions.
///
/// Every call blocks its thread: a write until earlier writes have ended and it is on disk, a read
/// while its closure runs. Do not call from Swift's cooperative thread pool where a commit may take
/// milliseconds. Any thread may call, several at once; reads never wait for a writer.
///
/// One process opens a store once: share the object. See ``StoreConfiguration/Access`` for
/// several processes.
public final class Store: @unchecked Sendable {
    // Immutable after initialisation.

    private let lifetime: EnvironmentLifetime

    /// The domain of the store's errors; see ``StoreConfiguration/errorDomain``.
    let errorDomain: String

    /// The directory that the store lies in; nil for a store in memory.
    public let directory: String?

    /// What opening the store found.
    public let opening: StoreOpening

    /// The maximum nesting depth of maps and arrays in a document.
    public let maxDepth: Int

    /// The maximum document size in bytes, by Firestore's published rules.
    public let maxDocumentBytes: Int64

    /// Opens a store, and creates a missing one unless the configuration says otherwise.
    ///
    /// Blocks for the disk. Stale readers of processes that ended are cleaned up. A damaged store is
    /// set aside, and one that cannot be written is opened for reading, as
    /// ``StoreConfiguration/recovery`` says.
    ///
    /// - Throws: `failedPrecondition` with the condition `alreadyOpen`, `locked`,
    ///   `networkFileSystem`, `newerFormat` or `foreignFile`; `notFound` with `noStore`;
    ///   `permissionDenied`; `dataLoss` for a damaged store; `invalidArgument` for a
    ///   configuration out of range; `unavailable` or `resourceExhausted` from the system.
    public init(_ configuration: StoreConfiguration) throws(LarderError) {
        errorDomain = configuration.errorDomain
        var options = try configuration.options()
        let context = configuration.log.map(LogContext.init)
        if let context {
            options.log = LogContext.function
            options.log_context = Unmanaged.passUnretained(context).toOpaque()
        }
        var environment: OpaquePointer?
        try call(errorDomain) { failure in
            configuration.path.withCString {
                larder_env_open($0, &options, &environment, failure)
            }
        }
        guard let environment else { throw LarderError(status: .noMemory, domain: errorDomain) }
        opening = StoreOpening(of: environment)
        maxDepth = configuration.maxDepth
        maxDocumentBytes = configuration.maxDocumentBytes
        directory =
            configuration.location == .memory
            ? nil : String(cString: larder_env_path(environment))
        lifetime = EnvironmentLifetime(
            environment, logContext: context, errorDomain: errorDomain)
    }

    /// Opens a store in a directory with the defaults of ``StoreConfiguration``.
    ///
    /// - Throws: as ``init(_:)``.
    public convenience init(directory: String) throws(LarderError) {
        try self.init(StoreConfiguration(directory: directory))
    }

    /// Closes the store; later calls fail.
    ///
    /// Releasing the last reference closes it, too. Closing twice has no effect.
    ///
    /// - Throws: `failedPrecondition` with the condition `busy` while transactions or other calls
    ///   are in progress; the store then stays open.
    public func close() throws(LarderError) {
        try lifetime.close()
    }

    /// Refuses calls from now on, and closes the store once those in progress have ended.
    ///
    /// Does not block; the closure is called on the thread that ends the last call, or on this
    /// one.
    public func closeWhenIdle(
        _ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void
    ) {
        lifetime.closeWhenIdle(completion)
    }

    /// Runs a closure with the core's environment, a `larder_env`, which stays open meanwhile.
    ///
    /// For the modules that add a database's tables to the store.
    package func withHandle(
        _ body: (OpaquePointer) throws(LarderError) -> Void
    ) throws(LarderError) {
        try lifetime.use(body)
    }

    func withEnvironment<R: ~Copyable>(
        _ body: (OpaquePointer) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        try lifetime.use(body)
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

extension Store {
    /// Deletes the store of a directory with everything in it.
    ///
    /// The directory is deleted, too, if nothing else is left in it. Does nothing if there is no
    /// store. A damaged store is deleted, too. Blocks for the disk.
    ///
    /// - Parameters:
    ///   - directory: the store's directory.
    ///   - errorDomain: the domain of errors; see ``StoreConfiguration/errorDomain``.
    /// - Throws: `failedPrecondition` with the condition `alreadyOpen` or `locked` while this or
    ///   another process has it open, or `foreignFile` for something that is not a store;
    ///   `unavailable` from the disk.
    public static func remove(
        directory: String, errorDomain: String = LarderError.sharedDomain
    ) throws(LarderError) {
        var configuration = StoreConfiguration(directory: directory)
        configuration.errorDomain = errorDomain
        configuration.createsStore = false
        configuration.recovery = .fail
        do throws(LarderError) {
            try Store(configuration).close()
        } catch {
            switch error.condition {
            case .noStore: return
            case .corrupt: break
            default: throw error
            }
        }
        let files = FileManager.default
        do {
            for name in [
                "data.mdb", "data.wal", "lock.mdb", "owner.lock", "damage.note",
            ] {
                let path = directory + "/" + name
                if files.fileExists(atPath: path) { try files.removeItem(atPath: path) }
            }
            if try files.contentsOfDirectory(atPath: directory).isEmpty {
                try files.removeItem(atPath: directory)
            }
        } catch {
            throw LarderError(
                .unavailable, "cannot delete the store '\(directory)'", condition: .io,
                cause: error, domain: errorDomain)
        }
    }
}
