package import HashTreeCollections
import LarderDocumentStore
package import LarderModel
package import LarderQuery

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

/// A target with what it is stored and found by.
struct EncodedTarget {
    /// The target.
    let target: QueryTarget
    /// The target as bytes.
    let query: [UInt8]
    /// Its canonical id, as much of it as the store takes: targets that share it are compared.
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

    /// Whether a stored target is this one.
    func isSame(as stored: Target) -> Bool {
        if stored.query == query { return true }
        // One that cannot be read, or that a newer version wrote, is another.
        return (try? QueryTarget(decoding: stored.query)) == target
    }
}

extension TargetData {
    /// What is stored of a target.
    init(_ stored: Target, of target: QueryTarget) {
        self.init(
            id: stored.id, target: target, resumeToken: stored.resumeToken,
            snapshotVersion: stored.snapshotVersion, limboFreeVersion: stored.limboFreeVersion)
        if !stored.resumeToken.isEmpty { storedVersion = stored.snapshotVersion }
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// What is stored of targets; nil unless all of them are stored.
    func find(_ targets: [EncodedTarget]) throws(LarderError) -> [TargetData]? {
        var found: [TargetData] = []
        for target in targets {
            guard let data = try find(target) else { return nil }
            found.append(data)
        }
        return found
    }

    /// What is stored of a target; nil when nothing is.
    func find(_ target: EncodedTarget) throws(LarderError) -> TargetData? {
        for id in try targetIDs(withCanonicalID: target.canonicalID) {
            guard let stored = try self.target(id), target.isSame(as: stored) else { continue }
            return TargetData(stored, of: target.target)
        }
        return nil
    }

    /// The documents that the backend is known to have in a target; none for one that is not
    /// stored.
    func remoteKeys(of targetID: Int32) throws(LarderError) -> TreeSet<DocumentPath> {
        var paths: TreeSet<DocumentPath> = []
        try forEachDocument(ofTarget: targetID) { paths.insert($0) }
        return paths
    }

    /// Whether a target has these documents and no others, in this order; nothing is made for a
    /// document.
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

    /// Calls with every document of a target, also those that are not cached.
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
    /// What is stored of a target, which is stored now unless it was before.
    ///
    /// Ids are even and rise; none is used again.
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

    /// Stores what the backend has said of a stored target.
    mutating func put(_ data: TargetData, over stored: Target) throws(LarderError) {
        var target = stored
        target.resumeToken = data.resumeToken
        target.snapshotVersion = data.snapshotVersion
        target.limboFreeVersion = data.limboFreeVersion
        try put(target)
    }

    /// Makes these the only documents of a target, which must be stored.
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
