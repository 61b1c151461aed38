public import Dispatch
public import Foundation

/// The settings of a shared database: cache, backend host and callback queue.
///
/// A database copies the settings when they are assigned and opens with the last ones assigned
/// before its first use.
///
/// ```swift
/// let settings = FirestoreSettings()
/// settings.cacheSettings = PersistentCacheSettings(sizeBytes: 200 * 1024 * 1024 as NSNumber)
/// Firestore.firestore().settings = settings
/// ```
public final class FirestoreSettings: NSObject {
    var values: SettingsValues

    /// Creates the default settings: a store on disk of up to 100 MiB, callbacks on the main queue.
    public override init() {
        values = SettingsValues()
    }

    init(_ values: SettingsValues) {
        self.values = values
    }

    /// The host that a `RemoteConnector` connects to, such as `localhost:8080`.
    public var host: String {
        get { values.host }
        set { values.host = newValue }
    }

    /// Whether connections to the backend are encrypted.
    public var isSSLEnabled: Bool {
        get { values.isSSLEnabled }
        set { values.isSSLEnabled = newValue }
    }

    /// The queue that listeners and completion handlers run on; use a serial queue to keep their
    /// order.
    ///
    /// The default is the main queue, as in Apple's SDK, because closures written in a main-actor
    /// context, such as an `async` main, are inferred `@MainActor`, and Swift may terminate a
    /// program that runs them elsewhere. An `async` main, `dispatchMain()` and `RunLoop.main` all
    /// serve the main queue. A program that blocks its main thread must set another serial queue.
    /// Async functions and sequences do not use the queue.
    public var dispatchQueue: DispatchQueue {
        get { values.queue }
        set { values.queue = newValue }
    }

    /// The storage of the documents.
    public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
        get { values.cache.settings }
        set { values.cache = CachePolicy(newValue) }
    }

    /// The time that gets, first snapshots and transactions wait for an unresponsive backend.
    ///
    /// Not in Apple's SDK; the default matches its behavior.
    public var serverWait: FirestoreConfiguration.ServerWait {
        get { values.serverWait }
        set { values.serverWait = newValue }
    }

    /// Whether documents are stored on disk.
    @available(*, deprecated, message: "Set cacheSettings.")
    public var isPersistenceEnabled: Bool {
        get { values.cache.isPersistent }
        set { values.cache = values.cache.persistent(newValue) }
    }

    /// The cache size in bytes.
    @available(*, deprecated, message: "Set cacheSettings.")
    public var cacheSizeBytes: Int64 {
        get { values.cache.sizeBytes }
        set { values.cache = values.cache.sized(newValue) }
    }

    /// An independent copy.
    public override func copy() -> Any { FirestoreSettings(values) }

    /// True if the other object is settings with the same values.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? FirestoreSettings)?.values == values
    }

    /// The hash of host, cache and server wait.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(values.host)
        hasher.combine(values.cache)
        hasher.combine(values.serverWait)
        return hasher.finalize()
    }
}

/// The content of ``FirestoreSettings`` as a value.
struct SettingsValues: Sendable, Equatable {
    private static let cloudHost = "firestore.googleapis.com"

    var host = Self.cloudHost
    var isSSLEnabled = true
    var queue = DispatchQueue.main
    var cache = CachePolicy.persistentDefault
    var serverWait = FirestoreConfiguration.ServerWait.likeFirebase

    /// Whether the backend's host was set.
    var namesHost: Bool { host != Self.cloudHost || !isSSLEnabled }

    static func == (left: SettingsValues, right: SettingsValues) -> Bool {
        left.host == right.host && left.isSSLEnabled == right.isSSLEnabled
            && left.queue === right.queue && left.cache == right.cache
            && left.serverWait == right.serverWait
    }
}
