import CLarder
import LarderModel

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
        options.max_readers = try Self.count(maxReaders, "maxReaders")
        options.max_depth = try Self.count(maxDepth, "maxDepth")
        options.max_document_bytes = maxDocumentBytes
        options.compression_level = Int32(clamping: compressionLevel)
        options.automatic_training = trainsAutomatically ? 1 : 0
        options.cold_field_bytes =
            try coldFieldBytes.map { (bytes) throws(LarderError) in
                try Self.count(bytes, "coldFieldBytes")
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

    private static func count(_ number: Int, _ name: String) throws(LarderError) -> UInt32 {
        guard number > 0, let count = UInt32(exactly: number) else {
            throw .invalidArgument("\(name) is \(number); it lies in 1...\(UInt32.max)")
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
