import LarderDocumentStore
package import LarderModel

/// The result of an eviction by hand.
package struct Evicted: Sendable {
    package fileprivate(set) var changes: [LocalChange] = []
    package fileprivate(set) var freedBytes: Int64 = 0
    /// Documents kept because of pending writes.
    package fileprivate(set) var keptCount = 0
    /// Targets of evicted documents, in order.
    package fileprivate(set) var targetIDs: [Int32] = []
}

extension LocalStore {
    /// Evicts documents without pending writes, in one commit.
    ///
    /// Their targets lose documents and tokens, since the backend would not repeat what it has
    /// sent.
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
                    LocalChange(path: document.path, before: document, after: nil))
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
        for user in users where try nextMutationBatchID(touching: path, of: user) != nil {
            return true
        }
        return false
    }
}

extension WriteTransaction {
    /// Discards a target's documents, token and versions.
    fileprivate mutating func forgetContents(ofTarget id: Int32) throws(LarderError) {
        guard let stored = try target(id) else { return }
        try setDocuments([], ofTarget: id)
        try put(
            Target(
                id: id, query: stored.query, canonicalID: stored.canonicalID,
                sequenceNumber: stored.sequenceNumber, flags: stored.flags))
    }
}
