import LarderModel
import LarderStorage
import LarderSync

extension FirestoreConfiguration {
    var databaseID: DatabaseID { DatabaseID(project: project, database: database) }

    /// What the client is opened with.
    var client: ClientConfiguration {
        get throws(LarderError) {
            var client = ClientConfiguration(storage: try store, databaseID: databaseID)
            client.collectsEagerly = storage == .memoryWithoutUnused
            client.makesIndexes = makesIndexes
            return client
        }
    }

    private var store: StoreConfiguration {
        get throws(LarderError) {
            var store = StoreConfiguration(location: location)
            store.access = access == .readOnly ? .readOnly : .readWrite
            store.durability = durability == .everyCommit ? .everyCommit : .lastCommitAtRisk
            store.budget = try budget
            store.log = logger.storeLog
            store.logLevel = logger.storeLogLevel
            return store
        }
    }

    private var location: StoreConfiguration.Location {
        switch storage {
        case .directory(let path): .directory(path)
        case .memory, .memoryWithoutUnused: .memory
        }
    }

    private var budget: StoreConfiguration.Budget {
        get throws(LarderError) {
            switch cacheSize {
            case .unlimited: return .unlimited
            case .bytes(let bytes):
                guard bytes >= 1_048_576 else {
                    throw .invalidArgument(
                        "The cache size is \(bytes) bytes; it is at least 1048576 (1 MiB), or "
                            + "FirestoreCacheSizeUnlimited.")
                }
                return .bytes(bytes)
            }
        }
    }
}
