public import Dispatch
public import Foundation

/// How a database of the shared-instance form is opened: its cache, and where callbacks run.
///
/// A database takes a copy when the settings are assigned to it, and opens with the last ones
/// assigned before its first use.
///
/// ```swift
/// let settings = FirestoreSettings()
/// settings.cacheSettings = PersistentCacheSettings(sizeBytes: 200 * 1024 * 1024 as NSNumber)
/// Firestore.firestore().settings = settings
/// ```
public final class FirestoreSettings: NSObject {
    var values: SettingsValues

    /// The defaults: a store on disk of up to 100 MiB, callbacks on the main queue.
    public override init() {
        values = SettingsValues()
    }

    init(_ values: SettingsValues) {
        self.values = values
    }

    /// The backend's host, such as `localhost:8080`, for a backend that was named by a
    /// `RemoteConnector`.
    public var host: String {
        get { values.host }
        set { values.host = newValue }
    }

    /// Whether connections to the backend are encrypted.
    public var isSSLEnabled: Bool {
        get { values.isSSLEnabled }
        set { values.isSSLEnabled = newValue }
    }

    /// The queue that listeners and completion handlers are called on; a serial one keeps their
    /// order.
    ///
    /// The default is the main queue, as on Apple's systems: closures that are written where the
    /// main actor is the context, as in an `async` main, belong to it, and Swift may stop a
    /// program that runs them elsewhere. An `async` main serves the main queue by itself, and so
    /// do `dispatchMain()` and `RunLoop.main`. A program that blocks its main thread sets a
    /// serial queue of its own here. Async functions and sequences do not use the queue.
    public var dispatchQueue: DispatchQueue {
        get { values.queue }
        set { values.queue = newValue }
    }

    /// Where documents are kept.
    public var cacheSettings: any LocalCacheSettings & NSObjectProtocol {
        get { values.cache.settings }
        set { values.cache = CachePolicy(newValue) }
    }

    /// The time that gets, first snapshots and transactions wait for a silent backend.
    ///
    /// Apple's settings have no such property; the default is what its SDK does.
    public var serverWait: FirestoreConfiguration.ServerWait {
        get { values.serverWait }
        set { values.serverWait = newValue }
    }

    /// Whether documents are kept on disk.
    @available(*, deprecated, message: "Set cacheSettings.")
    public var isPersistenceEnabled: Bool {
        get { values.cache.isPersistent }
        set { values.cache = values.cache.persistent(newValue) }
    }

    /// How many bytes the cache may occupy.
    @available(*, deprecated, message: "Set cacheSettings.")
    public var cacheSizeBytes: Int64 {
        get { values.cache.sizeBytes }
        set { values.cache = values.cache.sized(newValue) }
    }

    /// Settings of their own with the same values.
    public override func copy() -> Any { FirestoreSettings(values) }

    /// Whether the other object is settings with the same values.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? FirestoreSettings)?.values == values
    }

    /// A hash of host, cache and wait.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(values.host)
        hasher.combine(values.cache)
        hasher.combine(values.serverWait)
        return hasher.finalize()
    }
}
