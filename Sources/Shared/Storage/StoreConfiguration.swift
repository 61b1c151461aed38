import CLarder
import LarderCore

/// The options of opening a store.
public struct StoreConfiguration: Sendable {
    /// The location of a store.
    public enum Location: Hashable, Sendable {
        /// In a directory of a local file system.
        case directory(String)
        /// In memory: nothing is left on disk after closing.
        case memory
    }

    /// The access of this process to the store, and that of others at the same time.
    public enum Access: Hashable, Sendable {
        /// Reading and writing; no other process may open the store but for reading only.
        case readWrite
        /// Reading only; another process may be writing.
        ///
        /// Each read transaction sees the last commit. A store that was not closed, and one whose lock
        /// file this process may not write, is left as it is and read from a temporary copy, which
        /// later commits do not change (``StoreOpening/isSnapshot``).
        case readOnly
        /// Reading and writing, with other processes that open the store as shared, too.
        case shared
    }

    /// The failures that a finished commit survives.
    public enum Durability: Hashable, Sendable {
        /// Each commit is on disk when it returns.
        case everyCommit
        /// The store stays intact after a power cut, but the last commit may be missing. With the
        /// write-ahead log it costs what ``everyCommit`` does.
        case lastCommitAtRisk
    }

    /// The automatic repair of a store that is damaged or cannot be written when it is opened.
    ///
    /// A store that was not closed is recovered from the write-ahead log in any case.
    public enum Recovery: String, Hashable, Sendable, CaseIterable {
        /// Opening throws.
        case fail
        /// Without room or the right to write, the store is opened for reading only.
        case readOnly
        /// As ``readOnly``; and a damaged store is set aside: its files are moved, as they are, to a
        /// directory `damaged-TIME` in the store's directory, and a new store has everything that
        /// can be read of them, pending writes first.
        ///
        /// Only a process that is alone with the store does that. It reads all of the data file, and
        /// needs room for its size twice; without it, opening throws.
        case quarantine
    }

    /// The size above which the store evicts least recently used documents.
    public enum Budget: Hashable, Sendable {
        /// Nothing is evicted.
        case unlimited
        /// Bytes, at least 1 MiB, compared with ``StoreStatistics/totalBytes``.
        case bytes(Int64)
    }

    /// The severity of a log message.
    public enum LogLevel: Int32, Hashable, Sendable, Comparable {
        /// A failure.
        case error = 0
        /// A problem that was repaired or skipped.
        case warning = 1
        /// An event of interest.
        case info = 2
        /// Every step.
        case debug = 3

        /// True if the left level matters more.
        public static func < (left: LogLevel, right: LogLevel) -> Bool {
            left.rawValue < right.rawValue
        }
    }

    /// The location of the store.
    public var location: Location

    /// The domain of the store's errors: that of the database which opens it.
    public var errorDomain = LarderError.sharedDomain

    /// The access of this process.
    public var access = Access.readWrite

    /// True if a missing directory or store is created.
    public var createsStore = true

    /// The automatic repair when the store is damaged or cannot be written; ``Store/opening`` has
    /// its result.
    public var recovery = Recovery.quarantine

    /// The durability of commits.
    public var durability = Durability.everyCommit

    /// The size above which the store evicts documents.
    public var budget = Budget.unlimited

    /// True if a commit over budget evicts automatically; otherwise call
    /// ``Store/evict(toBytes:maxDocuments:maxMicroseconds:)`` explicitly.
    public var evictsAutomatically = true

    /// True if the first compression dictionary is trained automatically.
    public var trainsAutomatically = true

    /// The zstd level of the compressed part of records.
    public var compressionLevel = 1

    /// The size in bytes from which a value may be moved to the compressed part; nil for the
    /// default.
    public var coldFieldBytes: Int?

    /// Address space to reserve, in bytes; nil for 1 TiB or what the system gives, and for 64 GiB
    /// in memory.
    public var mapBytes: UInt64?

    /// The maximum number of read transactions that are open at once, over all processes.
    public var maxReaders = 510

    /// The maximum nesting depth of maps and arrays in a document.
    public var maxDepth = 20

    /// The maximum document size in bytes, by Firestore's published rules.
    public var maxDocumentBytes: Int64 = 1_048_576

    /// True if a network file system is accepted, where memory maps and locks are unreliable.
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
        options.recovery = recovery.option
        options.budget_bytes = budget.bytes
        options.map_bytes = mapBytes ?? (location == .memory ? Self.modestMapBytes : 0)
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

    /// The address space of stores of which a process may have hundreds open, such as those in
    /// memory: 64 GiB.
    ///
    /// A process has 128 TiB; a store that grows beyond its part reserves more.
    package static let modestMapBytes: UInt64 = 1 << 36

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

extension StoreConfiguration.Recovery {
    fileprivate var option: Int32 {
        switch self {
        case .fail: Int32(LARDER_RECOVERY_FAIL)
        case .readOnly: Int32(LARDER_RECOVERY_READ_ONLY)
        case .quarantine: Int32(LARDER_RECOVERY_QUARANTINE)
        }
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
