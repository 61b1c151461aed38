import Foundation
import LarderApp
import LarderSharedTestSupport
import Testing

@Suite("Options of an application")
struct FirebaseOptionsTests {
    /// The property list that Firebase's console gives to an application, with made-up values.
    private static let propertyList = """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0">
        <dict>
            <key>PROJECT_ID</key><string>kiosk</string>
            <key>GOOGLE_APP_ID</key><string>1:23:ios:45</string>
            <key>GCM_SENDER_ID</key><string>23</string>
            <key>API_KEY</key><string>key</string>
            <key>BUNDLE_ID</key><string>org.example.kiosk</string>
            <key>CLIENT_ID</key><string>client</string>
            <key>DATABASE_URL</key><string>https://kiosk.europe-west1.firebasedatabase.app</string>
            <key>STORAGE_BUCKET</key><string>kiosk.appspot.com</string>
            <key>IS_ADS_ENABLED</key><false/>
        </dict>
        </plist>
        """

    @Test("A property list gives the options")
    func contentsOfFile() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("GoogleService-Info.plist")
        try Data(Self.propertyList.utf8).write(to: URL(fileURLWithPath: path))
        let options = try #require(FirebaseOptions(contentsOfFile: path))
        #expect(options.projectID == "kiosk")
        #expect(options.googleAppID == "1:23:ios:45" && options.gcmSenderID == "23")
        #expect(options.apiKey == "key" && options.bundleID == "org.example.kiosk")
        #expect(options.clientID == "client" && options.storageBucket == "kiosk.appspot.com")
        #expect(options.databaseURL == "https://kiosk.europe-west1.firebasedatabase.app")
        #expect(options.appGroupID == nil)
    }

    @Test("A missing file, a damaged one and one without a dictionary give no options")
    func unreadableFiles() throws {
        let directory = try TemporaryDirectory()
        #expect(FirebaseOptions(contentsOfFile: directory.file("none.plist")) == nil)
        for (index, text) in ["not a list", "<plist><array/></plist>"].enumerated() {
            let path = directory.file("\(index).plist")
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            #expect(FirebaseOptions(contentsOfFile: path) == nil)
        }
    }

    @Test(
        "The project comes from the environment, otherwise from the bundle, otherwise it is demo-larder"
    )
    func projects() {
        func project(_ environment: [String: String], bundled: String? = nil) -> String? {
            FirebaseOptions.ofApplication(
                environment, bundled: bundled.map { FirebaseOptions(projectID: $0) }
            ).projectID
        }
        #expect(project([:]) == "demo-larder")
        #expect(project(["GCLOUD_PROJECT": "b"]) == "b")
        #expect(project(["GOOGLE_CLOUD_PROJECT": "a", "GCLOUD_PROJECT": "b"]) == "a")
        #expect(project(["FIREBASE_CONFIG": #"{"projectId": "c"}"#, "GCLOUD_PROJECT": "b"]) == "c")
        #expect(project(["FIREBASE_CONFIG": "no JSON", "FIREBASE_PROJECT_ID": "d"]) == "d")
        #expect(project(["GCLOUD_PROJECT": ""], bundled: "e") == "e")
        #expect(project(["GCLOUD_PROJECT": "b"], bundled: "e") == "b")
    }

    @Test("FIREBASE_CONFIG gives the URL of the Realtime Database")
    func databaseURL() {
        let config = #"{"projectId": "c", "databaseURL": "https://c.firebaseio.com"}"#
        let options = FirebaseOptions.ofApplication(["FIREBASE_CONFIG": config], bundled: nil)
        #expect(options.databaseURL == "https://c.firebaseio.com")
    }

    @Test("A copy is equal and independent, and an application object keeps one")
    func copies() throws {
        let options = FirebaseOptions(projectID: "one")
        options.storageBucket = "bucket"
        let copy = try #require(options.copy() as? FirebaseOptions)
        #expect(copy == options && copy !== options && copy.hash == options.hash)
        copy.projectID = "two"
        #expect(!copy.isEqual(options) && options.projectID == "one")
        FirebaseApp.configure(name: "copies", options: options)
        let app = try #require(FirebaseApp.app(name: "copies"))
        options.projectID = "three"
        app.options.projectID = "four"
        #expect(app.options.projectID == "one" && app.options.storageBucket == "bucket")
        app.isDataCollectionDefaultEnabled = false
        #expect(!app.isDataCollectionDefaultEnabled)
        app.delete { #expect($0) }
    }
}
