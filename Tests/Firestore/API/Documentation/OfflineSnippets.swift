import Dispatch
import Foundation
import Larder
import LarderBackend

/// The code in the article OfflineSemantics.
enum OfflineSnippets {
    static func attach(
        _ backend: Backend, _ configuration: inout FirestoreConfiguration
    ) throws -> Firestore {
        // snippet: attach
        configuration.backend = backend.connection
        configuration.localData = .push
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func ownWrites(_ db: Firestore) async throws -> Bool {
        // snippet: own-writes
        let city = db.document("cities/SF")
        city.enqueueSetData(["population": 860_000])
        let snapshot = try await city.getDocument(source: .cache)
        // snapshot.exists, snapshot.metadata.hasPendingWrites and
        // snapshot.metadata.isFromCache are true.
        // end
        return snapshot.exists && snapshot.metadata.hasPendingWrites
            && snapshot.metadata.isFromCache
    }

    static func unseen(_ db: Firestore) async throws -> Bool {
        // snippet: unseen
        do {
            _ = try await db.document("cities/never-seen").getDocument()
            return false
        } catch FirestoreErrorCode.unavailable {
            return true
        }
        // end
    }

    static func pending(_ db: Firestore) async throws -> [String] {
        // snippet: pending
        var lines: [String] = []
        for write in try await db.pendingWrites() {
            let paths = write.documents.map(\.path).joined(separator: ", ")
            lines.append(
                "\(write.id): \(paths), \(Int(write.age)) s old, tried \(write.attemptCount) times")
        }
        // end
        return lines
    }

    static func cancel(_ db: Firestore) async throws -> Bool {
        // snippet: cancel
        let write = db.document("cities/SF").enqueueUpdateData(["population": 0])
        let wasPending = try await write.cancel()
        // end
        return wasPending
    }

    static func transact(_ db: Firestore) async throws -> Int {
        // snippet: transact
        let city = db.document("cities/SF")
        let result = try await db.runTransaction { transaction, errorPointer in
            do {
                let population = try transaction.getDocument(city).get("population") as? Int ?? 0
                transaction.setData(["population": population + 1], forDocument: city, merge: true)
                return population + 1
            } catch {
                errorPointer?.pointee = error as NSError
                return nil
            }
        }
        // end
        return result as? Int ?? -1
    }

    static func timestamps(_ db: Firestore) async throws -> (Bool, Bool) {
        // snippet: timestamps
        let city = db.document("cities/SF")
        city.enqueueUpdateData(["changed": FieldValue.serverTimestamp()])
        let snapshot = try await city.getDocument(source: .cache)
        let unset = snapshot.get("changed") is NSNull
        let estimate = snapshot.get("changed", serverTimestampBehavior: .estimate) as? Timestamp
        // end
        return (unset, estimate != nil)
    }
}

/// The code in the article OfflineAndBack.
enum BackendSnippets {
    static func open() throws -> Firestore {
        // snippet: open-backend
        let backend = try Backend(BackendConfiguration(project: "cities"))
        var configuration = FirestoreConfiguration.inMemory
        configuration.project = "cities"
        configuration.backend = backend.connection
        let db = try Firestore(configuration: configuration)
        // end
        return db
    }

    static func forgetDeletes(of backend: Backend) throws -> Int {
        // snippet: forget-deletes
        let moment = Timestamp(date: Date(timeIntervalSinceNow: -30 * 86_400))
        let forgottenCount = try backend.forgetDeletes(before: moment)
        // end
        return forgottenCount
    }

    static func disable(_ db: Firestore) async throws -> NetworkState {
        // snippet: network-state
        try await db.disableNetwork()
        let state = db.networkState
        try await db.enableNetwork()
        // end
        return state
    }

    static func retry(_ db: Firestore) async throws {
        // snippet: dead-letters
        for letter in try await db.deadLetters() {
            print("\(letter.id): \(letter.error.message)")
            try await db.retryDeadLetter(letter.id)
        }
        // end
    }

    static func users(_ db: Firestore) async throws {
        // snippet: switch-user
        try await db.switchUser(to: "ada")
        try await db.document("notes/1").setData(["text": "Ada's"])
        try await db.switchUser(to: nil)
        // end
    }
}

/// The code in the article LoadingBundles.
enum BundleSnippets {
    static func load(_ bundle: Data, into db: Firestore) async throws -> Int? {
        // snippet: load-bundle
        let progress = try await db.loadBundle(bundle)
        print("\(progress.documentsLoaded) of \(progress.totalDocuments) documents")
        let large = await db.getQuery(named: "large-cities")
        let count = try await large?.getDocuments(source: .cache).count
        // end
        return count
    }
}

/// The code in the article ComingFromFirebase.
enum MigrationSnippets {
    static func queue(_ db: Firestore) {
        // snippet: queue
        let settings = FirestoreSettings()
        settings.dispatchQueue = DispatchQueue(label: "shop.callbacks")
        db.settings = settings
        // end
    }

    static func misuse(_ db: Firestore) async -> Bool {
        // snippet: misuse
        let query = db.collection("cities//SF").limit(to: 0)
        do {
            _ = try await query.getDocuments()
        } catch FirestoreErrorCode.invalidArgument {
            return true
        } catch {
            print("another error: \(error)")
        }
        // end
        return false
    }

    static func casts(_ snapshot: DocumentSnapshot) -> (Int?, Double?, Bool?) {
        // snippet: casts
        let population = snapshot.get("population") as? Int
        let area = snapshot.get("area") as? Double
        let isCapital = snapshot.get("capital") as? Bool
        // end
        return (population, area, isCapital)
    }
}
