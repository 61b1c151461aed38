package import HashTreeCollections
package import LarderModel
package import LarderQuery
import LarderStorage

extension LocalStore {
    /// Finds or makes the stored target of a query, for listening.
    ///
    /// Nothing is written for one that is found. A target is not kept from eviction: pin it for
    /// as long as it is watched.
    package func allocateTarget(_ target: QueryTarget) throws(LarderError) -> TargetData {
        let targets = try allocateTargets([target])
        guard let target = targets.first else {
            throw LarderError(.internal, "no target was allocated")
        }
        return target
    }

    /// Finds or makes the stored targets of queries; at most one commit for all.
    ///
    /// - Returns: a target for each, in order; equal ones share theirs.
    package func allocateTargets(_ targets: [QueryTarget]) throws(LarderError) -> [TargetData] {
        try begin(.allocateTarget)
        var encoded: [EncodedTarget] = []
        for target in targets { encoded.append(try EncodedTarget(target)) }
        let known = try store.read { (transaction) throws(LarderError) in
            try transaction.find(encoded)
        }
        if let known { return known }
        return try store.write { (transaction) throws(LarderError) in
            var found: [TargetData] = []
            for target in encoded { found.append(try transaction.allocate(target)) }
            return found
        }
    }

    /// A stored target by its id; nil when there is none.
    package func targetData(_ id: Int32) throws(LarderError) -> TargetData? {
        try begin(.readTarget)
        return try store.read { (transaction) throws(LarderError) in
            guard let stored = try transaction.target(id) else { return nil }
            return TargetData(stored, of: try QueryTarget(decoding: stored.query))
        }
    }

    /// The documents that the backend is known to have in a target; none for one that is not
    /// stored.
    package func remoteKeys(of targetID: Int32) throws(LarderError) -> TreeSet<DocumentPath> {
        try store.read { (transaction) throws(LarderError) in
            try transaction.remoteKeys(of: targetID)
        }
    }

    /// Saves what is known of a target whose last listener has gone.
    ///
    /// One that is no longer stored is not stored again.
    package func releaseTarget(_ data: TargetData) throws(LarderError) {
        try releaseTargets([data])
    }

    /// Saves what is known of targets whose last listeners have gone; one commit for all.
    package func releaseTargets(_ targets: [TargetData]) throws(LarderError) {
        try begin(.releaseTarget)
        try commit(forAll: true) { (transaction, _) throws(LarderError) in
            for data in targets {
                if journal != nil { try transaction.setCurrent(false, target: data.id) }
                guard let stored = try transaction.target(data.id) else { continue }
                try transaction.put(data, over: stored)
            }
        }
    }

    /// Forgets a target, with what documents are in it; the documents stay.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    package func removeTarget(_ id: Int32) throws(LarderError) -> Bool {
        try begin(.releaseTarget)
        return try store.write { (transaction) throws(LarderError) in
            try transaction.removeTarget(id)
        }
    }
}
