public import Foundation

/// An application's Firebase project; databases use the project ID, and the Realtime Database its
/// URL.
///
/// Not synchronized: use an object on one thread at a time. Application objects keep copies.
public final class FirebaseOptions: NSObject, NSCopying {
    /// The project ID.
    public var projectID: String?

    /// The URL of the default Realtime Database; nil for that of the project in the United States.
    public var databaseURL: String?

    /// The application ID; stored, but not used.
    public var googleAppID: String

    /// The sender ID for messaging; stored, but not used.
    public var gcmSenderID: String

    /// The API key for Google's services; stored, but not used.
    public var apiKey: String?

    /// The application's bundle ID; stored, but not used.
    public var bundleID: String

    /// The client ID for signing in with Google; stored, but not used.
    public var clientID: String?

    /// The bucket for files; stored, but not used.
    public var storageBucket: String?

    /// The ID of the group of applications on a device; stored, but not used.
    public var appGroupID: String?

    /// Creates options with the IDs that Firebase's own initializer takes.
    public init(googleAppID: String, gcmSenderID: String) {
        self.googleAppID = googleAppID
        self.gcmSenderID = gcmSenderID
        bundleID = Bundle.main.bundleIdentifier ?? ""
    }

    /// Creates options with a project ID, the only one that Larder needs.
    public convenience init(projectID: String) {
        self.init(googleAppID: "", gcmSenderID: "")
        self.projectID = projectID
    }

    /// Reads options from a property list such as `GoogleService-Info.plist`.
    ///
    /// Blocks on disk I/O. Missing and unknown keys are ignored.
    ///
    /// - Returns: nil if the file cannot be read, or is not a property list with a dictionary.
    public convenience init?(contentsOfFile plistPath: String) {
        guard let data = FileManager.default.contents(atPath: plistPath),
            let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
            let values = list as? [String: Any]
        else { return nil }
        func text(_ key: String) -> String? { values[key] as? String }
        self.init(
            googleAppID: text("GOOGLE_APP_ID") ?? "", gcmSenderID: text("GCM_SENDER_ID") ?? "")
        projectID = text("PROJECT_ID")
        databaseURL = text("DATABASE_URL")
        apiKey = text("API_KEY")
        bundleID = text("BUNDLE_ID") ?? bundleID
        clientID = text("CLIENT_ID")
        storageBucket = text("STORAGE_BUCKET")
    }

    /// Reads the options in `GoogleService-Info.plist` of the main bundle: on Linux, in the
    /// directory of the program.
    ///
    /// Blocks on disk I/O.
    ///
    /// - Returns: nil if there is no such file, or it cannot be read.
    public static func defaultOptions() -> FirebaseOptions? {
        Bundle.main.path(forResource: "GoogleService-Info", ofType: "plist")
            .flatMap { FirebaseOptions(contentsOfFile: $0) }
    }

    /// The options of an application that gives none: from the environment, otherwise from the main
    /// bundle, otherwise the placeholder's; see ``FirebaseApp/configure()``.
    ///
    /// - Parameter bundled: the options in the main bundle.
    package static func ofApplication(
        _ environment: [String: String] = ProcessInfo.processInfo.environment,
        bundled: @autoclosure () -> FirebaseOptions? = defaultOptions()
    ) -> FirebaseOptions {
        fromEnvironment(environment) ?? bundled()
            ?? FirebaseOptions(projectID: placeholderProjectID)
    }

    /// The project ID if the application names none.
    package static let placeholderProjectID = "demo-larder"

    /// The options given by environment variables; nil if none names a project.
    private static func fromEnvironment(_ environment: [String: String]) -> FirebaseOptions? {
        let config = environment["FIREBASE_CONFIG"].flatMap { json in
            try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        }
        func text(_ key: String) -> String? {
            (config?[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
        }
        let variables = ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "FIREBASE_PROJECT_ID"]
        let named = variables.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        guard let project = text("projectId") ?? named else { return nil }
        let options = FirebaseOptions(projectID: project)
        options.databaseURL = text("databaseURL")
        options.storageBucket = text("storageBucket")
        return options
    }

    // MARK: NSObject

    /// A copy with equal values.
    public func copy(with zone: NSZone? = nil) -> Any { duplicate() }

    func duplicate() -> FirebaseOptions {
        let options = FirebaseOptions(googleAppID: googleAppID, gcmSenderID: gcmSenderID)
        options.bundleID = bundleID
        options.appGroupID = appGroupID
        (options.projectID, options.databaseURL) = (projectID, databaseURL)
        (options.apiKey, options.clientID) = (apiKey, clientID)
        options.storageBucket = storageBucket
        return options
    }

    private var values: [String?] {
        [
            googleAppID, gcmSenderID, bundleID, projectID, databaseURL, apiKey, clientID,
            storageBucket, appGroupID,
        ]
    }

    /// True if the other object is of this class and all values are equal.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? FirebaseOptions)?.values == values
    }

    /// Hashes all values.
    public override var hash: Int { values.hashValue }
}
