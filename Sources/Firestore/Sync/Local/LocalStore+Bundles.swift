package import LarderModel
import LarderQuery
package import LarderRemote
import LarderStorage

extension LocalStore {
    /// Whether a bundle of the same id that is at least as new has been loaded.
    package func hasNewerBundle(than metadata: BundleMetadata) throws(LarderError) -> Bool {
        try store.read { (transaction) throws(LarderError) in
            guard let loaded = try transaction.namedValue(.bundle, metadata.id) else {
                return false
            }
            return loaded.time >= metadata.createTime
        }
    }

    /// Remembers that a bundle was loaded.
    package func save(_ metadata: BundleMetadata) throws(LarderError) {
        try begin(.loadBundle)
        try store.write { (transaction) throws(LarderError) in
            try transaction.putNamedValue(.bundle, metadata.id, [], time: metadata.createTime)
        }
    }

    /// Finds or makes the target that keeps a bundle's documents from eviction while it is
    /// pinned; it is never watched.
    package func allocateTarget(ofBundle id: String) throws(LarderError) -> TargetData {
        // The name is reserved, so that no application's query is for this collection.
        try allocateTarget(
            Query(.collection(CollectionPath(unchecked: "__bundle__/docs/\(id)"))).target)
    }

    /// Takes documents of a bundle into the cache, and those that exist into the bundle's target;
    /// one commit.
    ///
    /// A target that is no longer stored takes none.
    ///
    /// - Returns: the documents that were news, as the user sees them.
    package func applyBundledDocuments(_ documents: [DocumentReading], targetID: Int32)
        throws(LarderError) -> [LocalViewChange]
    {
        try begin(.loadBundle)
        let builder = try RecordBuilder()
        return try commit { (transaction, news) throws(LarderError) in
            if try transaction.target(targetID) != nil {
                try transaction.changeDocuments(
                    ofTarget: targetID, adding: documents.filter(\.exists).map(\.path))
            }
            let changes = try apply(
                documents, readTime: nil, in: &transaction, using: builder)
            news?.note(changes.map(\.path))
            return changes
        }
    }

    /// Makes these the only documents of a target, if it is stored; one commit.
    package func setDocuments(_ documents: Set<DocumentPath>, ofTarget id: Int32)
        throws(LarderError)
    {
        try begin(.loadBundle)
        try store.write { (transaction) throws(LarderError) in
            guard try transaction.target(id) != nil else { return }
            try transaction.setDocuments(documents, ofTarget: id)
        }
    }
}
