import Dispatch
import Foundation
import Larder

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
