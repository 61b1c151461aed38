import LarderModel
import LarderRemote
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
            client.maxWriteAttempts = maxWriteAttempts
            client.remote = try connection?.remote
            client.user = try UserID(validating: userID)
            if case .atMost(let duration) = serverWait {
                client.answerTimeout = duration
                client.remembersOutages = true
            }
            return client
        }
    }

    /// The backend's connection; makes it where a connector is to.
    private var connection: RemoteConnection? {
        get throws(LarderError) {
            if let backend { return backend }
            return try connector?.connect(
                RemoteConnector.Place(databaseID, host: host, isEncrypted: isSSLEnabled))
        }
    }

    private var store: StoreConfiguration {
        get throws(LarderError) {
            var store = StoreConfiguration(location: location)
            store.access = storeAccess
            store.durability = durability == .everyCommit ? .everyCommit : .lastCommitAtRisk
            store.budget = try budget
            store.log = logger.storeLog
            store.logLevel = logger.storeLogLevel
            return store
        }
    }

    private var storeAccess: StoreConfiguration.Access {
        switch access {
        case .readWrite: .readWrite
        case .readOnly: .readOnly
        case .shared: .shared
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
