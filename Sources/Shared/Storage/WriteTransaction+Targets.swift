import CLarder
public import LarderModel

extension WriteTransaction {
    /// Adds a target or replaces it; its documents stay.
    ///
    /// Counts as a use.
    ///
    /// - Throws: `invalidArgument` for an id below 1 or a payload beyond its limit.
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

    /// Removes a target with its documents' mention of it; the documents stay.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    public mutating func removeTarget(_ id: Int32) throws(LarderError) -> Bool {
        try call { larder_target_remove(writer, id, $0) } == .ok
    }

    /// Puts a document into a target; doing so twice changes nothing.
    ///
    /// - Throws: `notFound` when there is no such target.
    public mutating func add(_ path: DocumentPath, toTarget id: Int32) throws(LarderError) {
        let status = try call { failure in
            withBytes(path.string) { larder_target_add_document(writer, id, $0, failure) }
        }
        guard status == .ok else { throw LarderError(status: status) }
    }

    /// Takes a document out of a target.
    ///
    /// - Returns: whether it was in it.
    @discardableResult
    public mutating func remove(_ path: DocumentPath, fromTarget id: Int32)
        throws(LarderError) -> Bool
    {
        let status = try call { failure in
            withBytes(path.string) { larder_target_remove_document(writer, id, $0, failure) }
        }
        return status == .ok
    }

    /// Takes documents out of a target and puts others into it; those that are out, or in,
    /// already change nothing.
    ///
    /// Cheapest with documents of one collection next to each other.
    ///
    /// - Throws: `notFound` when there is no such target.
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
