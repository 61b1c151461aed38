package import HashTreeCollections
import LarderDocumentStore
package import LarderModel
package import LarderQuery

extension LocalStore {
    /// Finds or allocates the stored target of a query.
    ///
    /// Nothing is written for a target that is found. Pin it while it is watched, to keep it from
    /// eviction.
    package func allocateTarget(_ target: QueryTarget) throws(LarderError) -> TargetData {
        let targets = try allocateTargets([target])
        guard let target = targets.first else {
            throw LarderError(.internal, "no target was allocated")
        }
        return target
    }

    /// Finds or allocates the stored targets of queries, with at most one commit.
    ///
    /// - Returns: a target for each query, in order; equal queries share it.
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

    package func targetData(_ id: Int32) throws(LarderError) -> TargetData? {
        try begin(.readTarget)
        return try store.read { (transaction) throws(LarderError) in
            guard let stored = try transaction.target(id) else { return nil }
            return TargetData(stored, of: try QueryTarget(decoding: stored.query))
        }
    }

    /// The documents that the backend is known to have in a target; empty if it is not stored.
    package func remoteKeys(of targetID: Int32) throws(LarderError) -> TreeSet<DocumentPath> {
        try store.read { (transaction) throws(LarderError) in
            try transaction.remoteKeys(of: targetID)
        }
    }

    /// Stores the state of a target whose last listener has ended.
    ///
    /// A target that is no longer stored is not stored again.
    package func releaseTarget(_ data: TargetData) throws(LarderError) {
        try releaseTargets([data])
    }

    /// Stores the states of targets whose last listeners have ended, in one commit.
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

    /// Removes a target; its documents stay cached.
    @discardableResult
    package func removeTarget(_ id: Int32) throws(LarderError) -> Bool {
        try begin(.releaseTarget)
        return try store.write { (transaction) throws(LarderError) in
            try transaction.removeTarget(id)
        }
    }
}

/// A target with its stored form.
struct EncodedTarget {
    let target: QueryTarget
    let query: [UInt8]
    /// The canonical id, cut to the store's limit: targets that share it are compared.
    let canonicalID: String

    private static let maxBytes = 6000

    init(_ target: QueryTarget) throws(LarderError) {
        self.target = target
        query = try target.encoded()
        let text = target.canonicalID
        canonicalID =
            text.utf8.count <= Self.maxBytes
            ? text : String(decoding: text.utf8.prefix(Self.maxBytes), as: UTF8.self)
    }

    func isSame(as stored: Target) -> Bool {
        if stored.query == query { return true }
        // One that cannot be read, or that a newer version wrote, is another.
        return (try? QueryTarget(decoding: stored.query)) == target
    }
}

extension TargetData {
    init(_ stored: Target, of target: QueryTarget) {
        self.init(
            id: stored.id, target: target, resumeToken: stored.resumeToken,
            snapshotVersion: stored.snapshotVersion, limboFreeVersion: stored.limboFreeVersion)
        if !stored.resumeToken.isEmpty { storedVersion = stored.snapshotVersion }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// The stored targets; nil unless all are stored.
    func find(_ targets: [EncodedTarget]) throws(LarderError) -> [TargetData]? {
        var found: [TargetData] = []
        for target in targets {
            guard let data = try find(target) else { return nil }
            found.append(data)
        }
        return found
    }

    /// The stored target; nil if there is none.
    func find(_ target: EncodedTarget) throws(LarderError) -> TargetData? {
        for id in try targetIDs(withCanonicalID: target.canonicalID) {
            guard let stored = try self.target(id), target.isSame(as: stored) else { continue }
            return TargetData(stored, of: target.target)
        }
        return nil
    }

    /// The documents that the backend is known to have in a target; empty if it is not stored.
    func remoteKeys(of targetID: Int32) throws(LarderError) -> TreeSet<DocumentPath> {
        var paths: TreeSet<DocumentPath> = []
        try forEachDocument(ofTarget: targetID) { paths.insert($0) }
        return paths
    }

    /// Whether a target has exactly these documents, in this order; allocates nothing per document.
    func hasDocuments(_ documents: [Document], inTarget id: Int32) throws(LarderError) -> Bool {
        let names = ScanOptions(readsNamesOnly: true, includesAllStates: true)
        var (count, isSame) = (0, true)
        try self.documents(in: .target(id), options: names) { entry throws(LarderError) in
            isSame =
                count < documents.count && entry.pathView.isEqual(to: documents[count].path)
            count += 1
            return isSame ? .continue : .stop
        }
        return isSame && count == documents.count
    }

    /// Calls with every document of a target, including those that are not cached.
    func forEachDocument(ofTarget id: Int32, _ body: (DocumentPath) -> Void)
        throws(LarderError)
    {
        let names = ScanOptions(readsNamesOnly: true, includesAllStates: true)
        try documents(in: .target(id), options: names) { entry throws(LarderError) in
            body(entry.path)
            return .continue
        }
    }
}

extension WriteTransaction {
    /// Finds or stores a target.
    ///
    /// Ids are even, increasing and never reused.
    mutating func allocate(_ target: EncodedTarget) throws(LarderError) -> TargetData {
        if let known = try find(target) { return known }
        let highest = try highestTargetID()
        guard highest < Int32.max - 2 else {
            throw LarderError(.resourceExhausted, "the store has run out of target ids")
        }
        let stored = Target(
            id: (highest & ~1) + 2, query: target.query, canonicalID: target.canonicalID)
        try put(stored)
        return TargetData(stored, of: target.target)
    }

    /// Updates a stored target.
    mutating func put(_ data: TargetData, over stored: Target) throws(LarderError) {
        var target = stored
        target.resumeToken = data.resumeToken
        target.snapshotVersion = data.snapshotVersion
        target.limboFreeVersion = data.limboFreeVersion
        try put(target)
    }

    /// Replaces the documents of a stored target.
    mutating func setDocuments(_ documents: Set<DocumentPath>, ofTarget id: Int32)
        throws(LarderError)
    {
        var (gone, missing) = ([DocumentPath](), documents)
        try forEachDocument(ofTarget: id) { path in
            if missing.remove(path) == nil { gone.append(path) }
        }
        try changeDocuments(ofTarget: id, removing: gone, adding: missing.sorted())
    }
}
