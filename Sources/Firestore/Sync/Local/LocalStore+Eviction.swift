import LarderDocumentStore
package import LarderModel

/// What taking documents out of the cache did.
package struct Evicted: Sendable {
    /// The documents that went.
    package fileprivate(set) var changes: [LocalViewChange] = []
    /// What they occupied, in bytes.
    package fileprivate(set) var freedBytes: Int64 = 0
    /// Documents that stayed because pending writes touch them.
    package fileprivate(set) var keptCount = 0
    /// Targets that held one of those that went, in order.
    package fileprivate(set) var targetIDs: [Int32] = []
}

extension LocalStore {
    /// Takes documents out of the cache, apart from those with pending writes; one commit.
    ///
    /// Targets that hold one of them lose their documents and what resumes them: the backend
    /// would not tell again what it has told.
    package func evict(_ documents: [Document]) throws(LarderError) -> Evicted {
        try commit { (transaction, shared) throws(LarderError) in
            var (evicted, targets) = (Evicted(), Set<Int32>())
            let users = try transaction.usersWithMutations()
            for document in documents {
                if try transaction.isPending(document.path, of: users) {
                    evicted.keptCount += 1
                    continue
                }
                targets.formUnion(try transaction.targetIDs(holding: document.path))
                try transaction.remove(document.path)
                evicted.freedBytes += document.storedBytes
                evicted.changes.append(
                    LocalViewChange(path: document.path, before: document, after: nil))
            }
            evicted.targetIDs = targets.sorted()
            for id in evicted.targetIDs { try transaction.forgetContents(ofTarget: id) }
            shared?.note(evicted.changes.map(\.path))
            shared?.forgottenTargets = targets
            return evicted
        }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    fileprivate func isPending(_ path: DocumentPath, of users: [UserID]) throws(LarderError)
        -> Bool
    {
        for user in users where try !mutationBatchIDs(touching: path, of: user).isEmpty {
            return true
        }
        return false
    }
}

extension WriteTransaction {
    /// Forgets all that the backend has said of a target.
    fileprivate mutating func forgetContents(ofTarget id: Int32) throws(LarderError) {
        guard let stored = try target(id) else { return }
        try setDocuments([], ofTarget: id)
        try put(
            Target(
                id: id, query: stored.query, canonicalID: stored.canonicalID,
                sequenceNumber: stored.sequenceNumber, flags: stored.flags))
    }
}
