import Dispatch

/// What ``FirestoreSettings`` hold, as a value.
struct SettingsValues: Sendable, Equatable {
    var host = "firestore.googleapis.com"
    var isSSLEnabled = true
    var queue = DispatchQueue.main
    var cache = CachePolicy.persistentDefault

    static func == (left: SettingsValues, right: SettingsValues) -> Bool {
        left.host == right.host && left.isSSLEnabled == right.isSSLEnabled
            && left.queue === right.queue && left.cache == right.cache
    }
}
