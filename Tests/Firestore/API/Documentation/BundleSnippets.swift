import Foundation
import Larder

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
