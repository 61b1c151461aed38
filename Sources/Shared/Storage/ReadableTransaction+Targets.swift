import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// A target by its id; nil when there is none.
    public func target(_ id: Int32) throws(LarderError) -> Target? {
        try target { larder_target_get(snapshot.reader, id, $0, $1) }
    }

    /// The first target with an id above the given one; nil when there is none.
    public func nextTarget(after id: Int32 = 0) throws(LarderError) -> Target? {
        try target { larder_target_next(snapshot.reader, id, $0, $1) }
    }

    /// All targets in order of their ids.
    public func targets() throws(LarderError) -> [Target] {
        var targets: [Target] = []
        while let next = try nextTarget(after: targets.last?.id ?? 0) { targets.append(next) }
        return targets
    }

    /// The ids of targets with a canonical id.
    ///
    /// They may differ: compare their queries.
    public func targetIDs(withCanonicalID text: String) throws(LarderError) -> [Int32] {
        try filledArray { (ids, capacity, count, failure) in
            withBytes(text) {
                larder_target_find(snapshot.reader, $0, ids, capacity, count, failure)
            }
        }
    }

    /// The ids of targets that hold a document.
    public func targetIDs(holding path: DocumentPath) throws(LarderError) -> [Int32] {
        try filledArray { (ids, capacity, count, failure) in
            withBytes(path.string) {
                larder_target_find_document(snapshot.reader, $0, ids, capacity, count, failure)
            }
        }
    }

    /// The highest target id ever stored, 0 for none.
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
