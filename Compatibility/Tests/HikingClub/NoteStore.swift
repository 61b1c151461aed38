import FirebaseCore
import FirebaseDatabase
import FirebaseFirestore
import Foundation

/// What notes are added to: a collection, or its double in tests.
package protocol NoteStore {
    func addDocument(data: [String: Any]) -> DocumentReference
    func addDocument(data: [String: Any], completion: ((Error?) -> Void)?) -> DocumentReference
}

extension CollectionReference: NoteStore {}

/// What bundles are loaded into.
package protocol BundleStore {
    func loadBundle(
        _ bundleData: Data, completion: ((LoadBundleTaskProgress?, Error?) -> Void)?
    ) -> LoadBundleTask
}

extension Firestore: BundleStore {}

/// What belongs to an application object.
package protocol AppMember {
    var app: FirebaseApp? { get }
}

extension Database: AppMember {}

/// Short notes, in a store that tests replace.
package struct Notes {
    private let store: NoteStore

    package init(store: NoteStore) {
        self.store = store
    }

    /// Adds a note, which is visible at once.
    package func add(_ text: String) -> String {
        store.addDocument(data: ["text": text]).documentID
    }

    /// All notes of a collection, by a filter to which nothing was added.
    package static func all(in collection: CollectionReference) async throws -> [String] {
        try await collection.whereFilter(Filter()).getDocuments().documents.map(\.documentID)
    }
}
