import Dispatch
import Synchronization

public import class Foundation.NSObject

/// A stand-in for Firebase's application object that makes existing code compile: a name and a
/// project.
///
/// `Firestore.firestore()` works without a call to ``configure()``, which happens at the first use.
public final class FirebaseApp: NSObject, @unchecked Sendable {
    // Immutable, and options are copied on the way in and out; NSObject is not declared Sendable.

    /// The name of the application object that ``configure()`` creates.
    public static let defaultName = "__FIRAPP_DEFAULT"

    private static let apps = Mutex<[String: FirebaseApp]>([:])

    /// The name; ``defaultName`` for the default one.
    public let name: String

    private let storedOptions: FirebaseOptions

    /// Whether products may collect data about their use; stored, but not used.
    ///
    /// Larder collects none. Can be used on any thread.
    public var isDataCollectionDefaultEnabled: Bool {
        get { collectsData.load(ordering: .relaxed) }
        set { collectsData.store(newValue, ordering: .relaxed) }
    }

    private let collectsData = Atomic<Bool>(true)

    /// Ends the shared databases of a product; calls its argument when that is done.
    package typealias End = @Sendable (@escaping @Sendable () -> Void) -> Void

    private let deletion = Mutex<(isDeleted: Bool, ends: [String: End])>((false, [:]))

    /// True once the object was deleted.
    package var isDeleted: Bool { deletion.withLock { $0.isDeleted } }

    /// Registers what ends the shared databases of a product when the object is deleted.
    ///
    /// - Returns: false if it was deleted already.
    package func onDeletion(of product: String, _ end: @escaping End) -> Bool {
        deletion.withLock { deletion in
            if !deletion.isDeleted { deletion.ends[product] = end }
            return !deletion.isDeleted
        }
    }

    /// A copy of the options that the object was configured with.
    public var options: FirebaseOptions { storedOptions.duplicate() }

    /// The project ID, or the placeholder for options without one.
    package let projectID: String

    /// The URL of the default Realtime Database; nil for the project's own.
    package var databaseURL: String? {
        storedOptions.databaseURL.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// An object that ``app(name:)`` does not know.
    package init(name: String, options: FirebaseOptions) {
        self.name = name
        storedOptions = options.duplicate()
        projectID = options.projectID ?? FirebaseOptions.placeholderProjectID
    }

    /// Creates the default application object with the project that the environment or a file names.
    ///
    /// The project is the first of these that is set: `projectId` in the JSON of `FIREBASE_CONFIG`,
    /// `GOOGLE_CLOUD_PROJECT`, `GCLOUD_PROJECT`, `FIREBASE_PROJECT_ID`, the one in
    /// `GoogleService-Info.plist` of the main bundle (``FirebaseOptions/defaultOptions()``). If
    /// none is set, it is `demo-larder`, which is the name of no Google Cloud project. Configuring
    /// again has no effect.
    public static func configure() {
        configure(options: .ofApplication())
    }

    /// Creates the default application object; configuring again has no effect.
    public static func configure(options: FirebaseOptions) {
        configure(name: defaultName, options: options)
    }

    /// Creates a named application object; configuring the same name again has no effect.
    public static func configure(name: String, options: FirebaseOptions) {
        let app = FirebaseApp(name: name, options: options)
        apps.withLock { apps in
            if apps[name] == nil { apps[name] = app }
        }
    }

    /// The default application object; nil until it is configured.
    public static func app() -> FirebaseApp? { app(name: defaultName) }

    /// The application object with a name; nil until it is configured.
    public static func app(name: String) -> FirebaseApp? {
        apps.withLock { $0[name] }
    }

    /// All application objects by name; nil if there are none.
    public static var allApps: [String: FirebaseApp]? {
        apps.withLock { $0.isEmpty ? nil : $0 }
    }

    /// The default application object, configured from the environment if it does not exist.
    package static var configuredDefault: FirebaseApp {
        if let app = app() { return app }
        configure()
        return app() ?? FirebaseApp(name: defaultName, options: .ofApplication())
    }

    /// Removes the object from ``allApps``, and ends its shared databases.
    ///
    /// Pending writes stay in their stores. Later operations on the databases fail with
    /// `failedPrecondition`, also on those that are requested with this object; an object of the same
    /// name that is configured later has databases of its own.
    ///
    /// - Parameter completion: called when the databases have ended, on any thread, or before this
    ///   returns if there are none; receives true if the object was registered.
    public func delete(_ completion: @escaping (Bool) -> Void) {
        let wasThere = Self.apps.withLock { apps in
            guard apps[name] === self else { return false }
            apps[name] = nil
            return true
        }
        let ends = deletion.withLock { deletion in
            defer { deletion = (true, [:]) }
            return deletion.ends.values
        }
        let group = DispatchGroup()
        for end in ends {
            group.enter()
            end { group.leave() }
        }
        guard !ends.isEmpty else { return completion(wasThere) }
        // Called once, and not used here any more.
        nonisolated(unsafe) let completion = completion
        group.notify(queue: .global()) { completion(wasThere) }
    }

    /// Removes the object from ``allApps``, and ends its shared databases.
    ///
    /// See ``delete(_:)``.
    ///
    /// - Returns: true if the object was registered.
    public nonisolated(nonsending) func delete() async -> Bool {
        await withCheckedContinuation { continuation in
            delete { continuation.resume(returning: $0) }
        }
    }
}
