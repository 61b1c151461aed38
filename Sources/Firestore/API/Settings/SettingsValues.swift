import Dispatch

/// What ``FirestoreSettings`` hold, as a value.
struct SettingsValues: Sendable, Equatable {
    private static let cloudHost = "firestore.googleapis.com"

    var host = Self.cloudHost
    var isSSLEnabled = true
    var queue = DispatchQueue.main
    var cache = CachePolicy.persistentDefault
    var serverWait = FirestoreConfiguration.ServerWait.likeFirebase

    /// Whether they say where the backend is.
    var namesHost: Bool { host != Self.cloudHost || !isSSLEnabled }

    static func == (left: SettingsValues, right: SettingsValues) -> Bool {
        left.host == right.host && left.isSSLEnabled == right.isSSLEnabled
            && left.queue === right.queue && left.cache == right.cache
            && left.serverWait == right.serverWait
    }
}
