package import LarderModel
package import LarderStorage

extension LocalStore {
    /// The documents that another user sees otherwise than this one, each as seen by this user
    /// and by the other.
    ///
    /// Nothing is written. Linear in the batches of both users.
    package func changes(whenUserBecomes user: UserID) throws(LarderError) -> [LocalViewChange] {
        try begin(.changeUser)
        return try store.read { (transaction) throws(LarderError) in
            var (changes, seen) = ([LocalViewChange](), Set<DocumentPath>())
            // Where no batch touches a document, everybody sees what is cached.
            for owner in [self.user, user] {
                var last: Int64 = 0
                while let batch = try transaction.nextMutationBatch(after: last, of: owner) {
                    last = batch.id
                    for document in batch.documents where seen.insert(document.path).inserted {
                        let before = try transaction.document(
                            at: document.path, asSeenBy: self.user)
                        let after = try transaction.document(at: document.path, asSeenBy: user)
                        guard before != after else { continue }
                        changes.append(
                            LocalViewChange(
                                path: document.path, before: before, after: after,
                                takesBack: true))
                    }
                }
            }
            return changes
        }
    }
}
