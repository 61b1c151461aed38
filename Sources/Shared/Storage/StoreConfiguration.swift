import CLarder
import LarderCore

/// How a store is opened.
public struct StoreConfiguration: Sendable {
    /// Where a store lies.
    public enum Location: Hashable, Sendable {
        /// In a directory of a local file system.
        case directory(String)
        /// In memory: nothing is left on disk after closing.
        case memory
    }

    /// What this process may do with the store, and what others may do meanwhile.
    public enum Access: Hashable, Sendable {
        /// Reading and writing; no other process may open the store but for reading only.
        case readWrite
        /// Reading only; another process may be writing.
        case readOnly
        /// Reading and writing, with other processes that open the store as shared, too.
        case shared
    }

    /// What a commit that has returned survives.
    public enum Durability: Hashable, Sendable {
        /// Each commit is on disk when it returns.
        case everyCommit
        /// The store stays intact after a power cut, but the last commit may be missing; one
        /// disk flush a commit instead of two.
        case lastCommitAtRisk
    }

    /// How large the store may become before it evicts least recently used documents.
    public enum Budget: Hashable, Sendable {
        /// Nothing is evicted.
        case unlimited
        /// Bytes, at least 1 MiB, compared with ``StoreStatistics/totalBytes``.
        case bytes(Int64)
    }

    /// How much a log message matters.
    public enum LogLevel: Int32, Hashable, Sendable, Comparable {
        /// Something failed.
        case error = 0
        /// Something is wrong but was mended or passed over.
        case warning = 1
        /// Something worth knowing happened.
        case info = 2
        /// Every step.
        case debug = 3

        /// Whether the left level matters more.
        public static func < (left: LogLevel, right: LogLevel) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// Where the store lies.
    public var location: Location

    /// The domain of the store's errors: that of the database which opens it.
    public var errorDomain = LarderError.sharedDomain

    /// What this process may do with it.
    public var access = Access.readWrite

    /// Whether directory and store are made where there are none.
    public var createsStore = true

    /// What a commit survives.
    public var durability = Durability.everyCommit

    /// How large the store may become.
    public var budget = Budget.unlimited

    /// Whether a commit over budget evicts by itself; ``Store/evict(toBytes:maxDocuments:maxMicroseconds:)``
    /// does otherwise.
    public var evictsAutomatically = true

    /// Whether a first compression dictionary is trained by itself.
    public var trainsAutomatically = true

    /// The zstd level of the compressed part of records.
    public var compressionLevel = 1

    /// Bytes from which on a value may go to the compressed part; nil for the default.
    public var coldFieldBytes: Int?

    /// Address space to reserve, in bytes; nil for 1 TiB or what the system gives, and for 64 GiB
    /// in memory.
    public var mapBytes: UInt64?

    /// Read transactions open at once, over all processes.
    public var maxReaders = 510

    /// How deep maps and arrays in a document may be nested.
    public var maxDepth = 20

    /// What a document may count towards the document size limit, in bytes.
    public var maxDocumentBytes: Int64 = 1_048_576

    /// Whether a network file system is accepted, where memory maps and locks are unreliable.
    public var allowsNetworkFileSystem = false

    /// Called with each log message, on whichever thread meets the event.
    ///
    /// It must not call into the store.
    public var log: (@Sendable (LogLevel, String) -> Void)?

    /// The most detailed level that is logged.
    public var logLevel = LogLevel.warning

    /// A store in a directory, with the defaults for everything else.
    public init(directory: String) {
        location = .directory(directory)
    }

    /// A store at a location, with the defaults for everything else.
    public init(location: Location) {
        self.location = location
    }

    /// A store in memory, with the defaults for everything else.
    public static func inMemory() -> StoreConfiguration {
        StoreConfiguration(location: .memory)
    }
}

extension StoreConfiguration {
    /// The path to give to the core; it ignores that of a store in memory.
    var path: String {
        switch location {
        case .directory(let path): path
        case .memory: ""
        }
    }

    /// The core's options, but for the log.
    func options() throws(LarderError) -> larder_env_options {
        var options = larder_env_options()
        larder_env_options_init(&options, MemoryLayout<larder_env_options>.size)
        options.flags = flags
        options.durability = Int32(
            durability == .everyCommit
                ? LARDER_DURABILITY_EVERY_COMMIT : LARDER_DURABILITY_LAST_COMMIT_AT_RISK)
        options.budget_bytes = budget.bytes
        options.map_bytes = mapBytes ?? (location == .memory ? Self.memoryMapBytes : 0)
        options.max_readers = try count(maxReaders, "maxReaders")
        options.max_depth = try count(maxDepth, "maxDepth")
        options.max_document_bytes = maxDocumentBytes
        options.compression_level = Int32(clamping: compressionLevel)
        options.automatic_training = trainsAutomatically ? 1 : 0
        options.cold_field_bytes =
            try coldFieldBytes.map { (bytes) throws(LarderError) in
                try count(bytes, "coldFieldBytes")
            } ?? 0
        options.manual_reclaim = evictsAutomatically ? 0 : 1
        options.log_level = logLevel.rawValue
        return options
    }

    /// What a store in memory reserves: many of them may be open at a time, and none of them
    /// outgrows the memory.
    private static let memoryMapBytes: UInt64 = 1 << 36

    private var flags: UInt32 {
        var flags = 0
        if createsStore, access != .readOnly { flags |= LARDER_OPEN_CREATE }
        if access == .readOnly { flags |= LARDER_OPEN_READ_ONLY }
        if access == .shared { flags |= LARDER_OPEN_SHARED }
        if location == .memory { flags |= LARDER_OPEN_IN_MEMORY }
        if allowsNetworkFileSystem { flags |= LARDER_OPEN_ANY_FILE_SYSTEM }
        return UInt32(flags)
    }

    private func count(_ number: Int, _ name: String) throws(LarderError) -> UInt32 {
        guard number > 0, let count = UInt32(exactly: number) else {
            throw error(
                ofArgument: "\(name) is \(number); it lies in 1...\(UInt32.max)", errorDomain)
        }
        return count
    }
}

extension StoreConfiguration.Budget {
    var bytes: Int64 {
        switch self {
        case .unlimited: Int64(LARDER_BUDGET_UNLIMITED)
        case .bytes(let bytes): bytes
        }
    }
}
