import LarderModel

extension FirestoreConfiguration {
    /// Where documents are kept and how many bytes of them, in the terms of Apple's settings.
    var cachePolicy: CachePolicy {
        let bytes =
            switch cacheSize {
            case .unlimited: FirestoreCacheSizeUnlimited
            case .bytes(let bytes): bytes
            }
        return switch storage {
        case .directory: .persistent(bytes)
        case .memory: .memory(bytes)
        case .memoryWithoutUnused: .eagerMemory
        }
    }

    /// Takes over what Apple's settings say.
    mutating func apply(_ settings: SettingsValues, default directory: String) {
        callbackQueue = settings.queue
        host = settings.namesHost ? settings.host : nil
        isSSLEnabled = settings.isSSLEnabled
        serverWait = settings.serverWait
        switch settings.cache {
        case .persistent: storage = .directory(directory)
        case .memory: storage = .memory
        case .eagerMemory: storage = .memoryWithoutUnused
        }
        let bytes = settings.cache.sizeBytes
        cacheSize = bytes == FirestoreCacheSizeUnlimited ? .unlimited : .bytes(bytes)
    }
}
