import CLarder
public import LarderModel
public import LarderStorage

/// A query that is or was listened to, with the backend's state of it.
public struct Target: Hashable, Sendable {
    /// The target ID, above 0.
    public var id: Int32
    /// The query, in the caller's encoding.
    public var query: [UInt8]
    /// Equal for equal targets; different targets may share it, too.
    public var canonicalID: String
    /// The token for resuming the stream, in the backend's encoding.
    public var resumeToken: [UInt8]
    /// The snapshot of the token.
    public var snapshotVersion: SnapshotVersion
    /// The last snapshot without documents in limbo.
    public var limboFreeVersion: SnapshotVersion
    /// The caller's sequence number; larger is more recently used.
    public var sequenceNumber: Int64
    /// The caller's flags.
    public var flags: UInt32

    /// Creates a target without state from the backend.
    public init(
        id: Int32, query: [UInt8], canonicalID: String, resumeToken: [UInt8] = [],
        snapshotVersion: SnapshotVersion = .none, limboFreeVersion: SnapshotVersion = .none,
        sequenceNumber: Int64 = 0, flags: UInt32 = 0
    ) {
        self.id = id
        self.query = query
        self.canonicalID = canonicalID
        self.resumeToken = resumeToken
        self.snapshotVersion = snapshotVersion
        self.limboFreeVersion = limboFreeVersion
        self.sequenceNumber = sequenceNumber
        self.flags = flags
    }
}

extension ReadableTransaction where Self: ~Copyable {
    /// A target by ID; nil if there is none.
    public func target(_ id: Int32) throws(LarderError) -> Target? {
        try target { larder_target_get(snapshot.reader, id, $0, $1) }
    }

    /// The first target with an ID above the given one; nil if there is none.
    public func nextTarget(after id: Int32 = 0) throws(LarderError) -> Target? {
        try target { larder_target_next(snapshot.reader, id, $0, $1) }
    }

    /// All targets in order of their IDs.
    public func targets() throws(LarderError) -> [Target] {
        var targets: [Target] = []
        while let next = try nextTarget(after: targets.last?.id ?? 0) { targets.append(next) }
        return targets
    }

    /// The IDs of targets with a canonical ID.
    ///
    /// Their queries may differ: compare them.
    public func targetIDs(withCanonicalID text: String) throws(LarderError) -> [Int32] {
        try filledArray { (ids, capacity, count, failure) in
            withBytes(text) {
                larder_target_find(snapshot.reader, $0, ids, capacity, count, failure)
            }
        }
    }

    /// The IDs of targets that contain a document.
    public func targetIDs(holding path: DocumentPath) throws(LarderError) -> [Int32] {
        try filledArray { (ids, capacity, count, failure) in
            withBytes(path.string) {
                larder_target_find_document(snapshot.reader, $0, ids, capacity, count, failure)
            }
        }
    }

    /// The highest target ID ever stored; 0 for none.
    public func highestTargetID() throws(LarderError) -> Int32 {
        var id: Int32 = 0
        try call { larder_target_highest_id(snapshot.reader, &id, $0) }
        return id
    }

    /// The number of documents of a target.
    public func documentCount(ofTarget id: Int32) throws(LarderError) -> Int64 {
        var count: Int64 = 0
        try call { larder_target_document_count(snapshot.reader, id, &count, $0) }
        return count
    }

    private func target(
        _ get: (UnsafeMutablePointer<larder_target>, UnsafeMutablePointer<larder_error>) -> Int32
    ) throws(LarderError) -> Target? {
        var target = larder_target()
        target.struct_bytes = MemoryLayout<larder_target>.size
        let status = try call { get(&target, $0) }
        return status == .ok ? Target(target) : nil
    }
}

extension Target {
    fileprivate init(_ target: larder_target) {
        self.init(
            id: target.target_id, query: target.query.array,
            canonicalID: target.canonical_id.text, resumeToken: target.resume_token.array,
            snapshotVersion: target.snapshot_version.version,
            limboFreeVersion: target.limbo_free_version.version,
            sequenceNumber: target.sequence_number, flags: target.flags)
    }
}

extension WriteTransaction {
    /// Adds or replaces a target; its documents remain.
    ///
    /// Counts as a use.
    ///
    /// - Throws: `invalidArgument` for an ID below 1 or a payload above its limit.
    public mutating func put(_ target: Target) throws(LarderError) {
        var core = larder_target()
        core.struct_bytes = MemoryLayout<larder_target>.size
        core.target_id = target.id
        core.flags = target.flags
        core.sequence_number = target.sequenceNumber
        core.snapshot_version = larder_time(target.snapshotVersion)
        core.limbo_free_version = larder_time(target.limboFreeVersion)
        try call { failure in
            withBytes(target.resumeToken) { token in
                withBytes(target.canonicalID) { canonicalID in
                    withBytes(target.query) { query in
                        core.resume_token = token
                        core.canonical_id = canonicalID
                        core.query = query
                        return larder_target_put(writer, &core, failure)
                    }
                }
            }
        }
    }

    /// Removes a target and its membership rows; the documents remain.
    ///
    /// - Returns: true if it existed.
    @discardableResult
    public mutating func removeTarget(_ id: Int32) throws(LarderError) -> Bool {
        try call { larder_target_remove(writer, id, $0) } == .ok
    }

    /// Adds a document to a target; adding it twice has no effect.
    ///
    /// - Throws: `notFound` if there is no such target.
    public mutating func add(_ path: DocumentPath, toTarget id: Int32) throws(LarderError) {
        let status = try call { failure in
            withBytes(path.string) { larder_target_add_document(writer, id, $0, failure) }
        }
        guard status == .ok else { throw LarderError(status: status) }
    }

    /// Removes a document from a target.
    ///
    /// - Returns: true if the target contained it.
    @discardableResult
    public mutating func remove(_ path: DocumentPath, fromTarget id: Int32)
        throws(LarderError) -> Bool
    {
        let status = try call { failure in
            withBytes(path.string) { larder_target_remove_document(writer, id, $0, failure) }
        }
        return status == .ok
    }

    /// Removes documents from a target and adds others; documents that are already removed or added
    /// are ignored.
    ///
    /// Fastest if documents of one collection are adjacent.
    ///
    /// - Throws: `notFound` if there is no such target.
    public mutating func changeDocuments(
        ofTarget id: Int32, removing removed: [DocumentPath] = [],
        adding added: [DocumentPath] = []
    ) throws(LarderError) {
        let writer = writer
        let status = try call { failure in
            withNames(removed) { removed in
                withNames(added) { added in
                    larder_target_change_documents(
                        writer, id, removed.baseAddress, removed.count, added.baseAddress,
                        added.count, failure)
                }
            }
        }
        guard status == .ok else { throw LarderError(status: status) }
    }
}
