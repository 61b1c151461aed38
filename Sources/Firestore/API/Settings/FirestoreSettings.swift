public import Dispatch
public import Foundation
public import LarderModel

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
public final class FirestoreSettings: NSObject, NSCopying {
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

    /// The collection of marker documents by which Cloud Firestore commits each write once, such as
    /// `larderClients`; nil, the default, for none.
    ///
    /// A write whose answer is lost is sent again. `larderd` and the in-process backend recognize
    /// it and answer it again; they need no markers. Cloud Firestore does not, so that an increment
    /// may count twice. With a collection, each commit of the queue also writes a document of the
    /// client there, which names its last writes; the document's update time is a precondition.
    ///
    /// Costs one more write for each commit, and one read for each connection. Commits are sent one
    /// at a time, each after the answer to the previous one. Security rules must allow clients to
    /// read and write the collection. A transaction is not marked. Not in Apple's SDK.
    public var writeMarkerCollection: String? {
        get { values.writeMarkerCollection }
        set { values.writeMarkerCollection = newValue }
    }

    /// The rules for what is kept of a collection; nil, the default, for those that the store has.
    ///
    /// If they contradict themselves or each other, every operation of the database fails with
    /// `invalidArgument`. See ``FirestoreConfiguration/cacheRules``. Not in Apple's SDK.
    public var cacheRules: [CacheRule]? {
        get { values.cacheRules }
        set { values.cacheRules = newValue }
    }

    /// True if the database is local: it has no backend, and a local commit is final.
    ///
    /// See ``FirestoreConfiguration/isLocal``. Not in Apple's SDK.
    public var isLocal: Bool {
        get { values.isLocal }
        set { values.isLocal = newValue }
    }

    /// The handling of a local database's documents when it is opened with a backend.
    ///
    /// See ``FirestoreConfiguration/localData-swift.property``. Not in Apple's SDK.
    public var localData: FirestoreConfiguration.LocalData? {
        get { values.localData }
        set { values.localData = newValue }
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

    /// Which writes the snapshots of listeners show together; each write by itself by default.
    ///
    /// See ``FirestoreConfiguration/snapshotGrouping-swift.property``. Not in Apple's SDK.
    public var snapshotGrouping: FirestoreConfiguration.SnapshotGrouping {
        get { values.snapshotGrouping }
        set { values.snapshotGrouping = newValue }
    }

    /// An independent copy.
    public func copy(with zone: NSZone? = nil) -> Any { FirestoreSettings(values) }

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
    var writeMarkerCollection: String?
    var cacheRules: [CacheRule]?
    var snapshotGrouping = FirestoreConfiguration.SnapshotGrouping.eachWrite
    var isLocal = false
    var localData: FirestoreConfiguration.LocalData?

    /// Whether the backend's host was set.
    var namesHost: Bool { host != Self.cloudHost || !isSSLEnabled }

    static func == (left: SettingsValues, right: SettingsValues) -> Bool {
        left.host == right.host && left.isSSLEnabled == right.isSSLEnabled
            && left.queue === right.queue && left.cache == right.cache
            && left.serverWait == right.serverWait
            && left.writeMarkerCollection == right.writeMarkerCollection
            && left.cacheRules == right.cacheRules
            && left.snapshotGrouping == right.snapshotGrouping
            && left.isLocal == right.isLocal && left.localData == right.localData
    }
}
