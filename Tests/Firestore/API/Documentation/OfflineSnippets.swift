import Foundation
import Larder

/// The code in the article OfflineSemantics.
enum OfflineSnippets {
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
