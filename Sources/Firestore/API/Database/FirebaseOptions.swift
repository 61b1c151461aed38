public import Foundation

/// What an application says of its Firebase project; the database uses the project's id alone.
public final class FirebaseOptions: NSObject {
    /// The project's id.
    public var projectID: String?

    /// The application's id; kept, not used.
    public var googleAppID: String

    /// The sender's id for messages; kept, not used.
    public var gcmSenderID: String

    /// The key for Google's services; kept, not used.
    public var apiKey: String?

    /// Options with the ids that Firebase's own initialiser asks for.
    public init(googleAppID: String, gcmSenderID: String) {
        self.googleAppID = googleAppID
        self.gcmSenderID = gcmSenderID
    }

    /// Options with a project's id, which is all that Larder needs.
    public convenience init(projectID: String) {
        self.init(googleAppID: "", gcmSenderID: "")
        self.projectID = projectID
    }

    /// The options that the environment gives: see ``FirebaseApp/configure()``.
    static func fromEnvironment(
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> FirebaseOptions {
        FirebaseOptions(projectID: projectID(in: environment) ?? placeholderProjectID)
    }

    static let placeholderProjectID = "demo-larder"

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
