public import Foundation

/// An application's Firebase project; databases use only the project ID.
public final class FirebaseOptions: NSObject {
    /// The project ID.
    public var projectID: String?

    /// The application ID; stored, but not used.
    public var googleAppID: String

    /// The sender ID for messaging; stored, but not used.
    public var gcmSenderID: String

    /// The API key for Google's services; stored, but not used.
    public var apiKey: String?

    /// Creates options with the IDs that Firebase's own initializer takes.
    public init(googleAppID: String, gcmSenderID: String) {
        self.googleAppID = googleAppID
        self.gcmSenderID = gcmSenderID
    }

    /// Creates options with a project ID, the only one that Larder needs.
    public convenience init(projectID: String) {
        self.init(googleAppID: "", gcmSenderID: "")
        self.projectID = projectID
    }

    /// The options given by environment variables; see ``FirebaseApp/configure()``.
    package static func fromEnvironment(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> FirebaseOptions {
        FirebaseOptions(projectID: projectID(in: environment) ?? placeholderProjectID)
    }

    /// The project ID if the application names none.
    package static let placeholderProjectID = "demo-larder"

    private static func projectID(in environment: [String: String]) -> String? {
        if let json = environment["FIREBASE_CONFIG"],
            let object = try? JSONSerialization.jsonObject(with: Data(json.utf8)),
            let project = (object as? [String: Any])?["projectId"] as? String, !project.isEmpty
        {
            return project
        }
        return ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "FIREBASE_PROJECT_ID"].lazy
            .compactMap { environment[$0] }
            .first { !$0.isEmpty }
    }

    func duplicate() -> FirebaseOptions {
        let options = FirebaseOptions(googleAppID: googleAppID, gcmSenderID: gcmSenderID)
        options.projectID = projectID
        options.apiKey = apiKey
        return options
    }
}
