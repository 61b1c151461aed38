import FirebaseCore
import FirebaseDatabase
import FirebaseFirestore
import Foundation

/// What an application does as it starts.
package enum AppStart {
    /// Configures the application with the options of a file, or with those of the bundle.
    package static func configure(optionsFile: String?) {
        FirebaseConfiguration.shared.setLoggerLevel(.min)
        if let optionsFile {
            guard let options = FirebaseOptions(contentsOfFile: optionsFile) else {
                assertionFailure("no options in \(optionsFile)")
                return
            }
            FirebaseApp.configure(options: options)
        } else if let options = FirebaseOptions.defaultOptions() {
            FirebaseApp.configure(options: options)
        } else {
            FirebaseApp.configure()
        }
        FirebaseApp.app()?.isDataCollectionDefaultEnabled = false
        Firestore.enableLogging(false)
        Database.setLoggingEnabled(false)
    }

    /// The database of documents with its cache on disk.
    package static func openFirestore() -> Firestore {
        let db = Firestore.firestore()
        let settings = db.settings
        settings.cacheSettings = PersistentCacheSettings(sizeBytes: 50 * 1024 * 1024 as NSNumber)
        settings.dispatchQueue = DispatchQueue(label: "hiking.club")
        db.settings = settings
        return db
    }

    /// What follows once the database has its settings.
    package static func prepare(_ db: Firestore) {
        db.persistentCacheIndexManager?.enableIndexAutoCreation()
    }

    /// The tree of messages and presence.
    package static func openDatabase() -> Database {
        let database = Database.database()
        database.isPersistenceEnabled = true
        database.callbackQueue = DispatchQueue(label: "hiking.club.tree")
        return database
    }

    /// A line for a page about the application.
    package static func about() -> String {
        let project = FirebaseApp.app()?.options.projectID ?? "no project"
        return "\(project), \(FirebaseVersion()), \(Database.sdkVersion())"
    }
}
