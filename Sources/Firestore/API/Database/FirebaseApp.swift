import Synchronization

public import class Foundation.NSObject

/// A stand-in for Firebase's application object, so that code written for it compiles: a name
/// and a project.
///
/// `Firestore.firestore()` works without any call to ``configure()``: the first use does it.
public final class FirebaseApp: NSObject, @unchecked Sendable {
    // Immutable, and options are copied on the way in and out; NSObject is not declared Sendable.

    /// The name of the application object that ``configure()`` makes.
    public static let defaultName = "__FIRAPP_DEFAULT"

    private static let apps = Mutex<[String: FirebaseApp]>([:])

    /// The name; ``defaultName`` for the default one.
    public let name: String

    private let storedOptions: FirebaseOptions

    /// A copy of the options that it was configured with.
    public var options: FirebaseOptions { storedOptions.duplicate() }

    /// The project's id.
    let projectID: String

    init(name: String, options: FirebaseOptions) {
        self.name = name
        storedOptions = options.duplicate()
        projectID = options.projectID ?? FirebaseOptions.placeholderProjectID
    }

    /// Makes the default application object with the project that the environment names.
    ///
    /// The first of these that is set counts: `projectId` in the JSON of `FIREBASE_CONFIG`, then
    /// `GOOGLE_CLOUD_PROJECT`, `GCLOUD_PROJECT`, `FIREBASE_PROJECT_ID`. Without any the project is
    /// `demo-larder`, a name that no project of Google's has. Configuring again changes nothing.
    public static func configure() {
        configure(options: .fromEnvironment())
    }

    /// Makes the default application object; configuring again changes nothing.
    public static func configure(options: FirebaseOptions) {
        configure(name: defaultName, options: options)
    }

    /// Makes an application object with a name; configuring a name again changes nothing.
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

    /// Every application object, by name; nil when there is none.
    public static var allApps: [String: FirebaseApp]? {
        apps.withLock { $0.isEmpty ? nil : $0 }
    }

    /// The default application object, configured from the environment if need be.
    static var configuredDefault: FirebaseApp {
        if let app = app() { return app }
        configure()
        return app() ?? FirebaseApp(name: defaultName, options: .fromEnvironment())
    }

    /// Forgets the object; its databases go on working.
    ///
    /// - Parameter completion: called on the calling thread before this returns, with whether the
    ///   object was known.
    public func delete(_ completion: @escaping (Bool) -> Void) {
        let wasThere = Self.apps.withLock { apps in
            guard apps[name] === self else { return false }
            apps[name] = nil
            return true
        }
        completion(wasThere)
    }

    /// Forgets the object; its databases go on working.
    public nonisolated(nonsending) func delete() async -> Bool {
        await withCheckedContinuation { continuation in
            delete { continuation.resume(returning: $0) }
        }
    }
}
