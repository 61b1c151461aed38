import CLarder
public import LarderModel
public import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// The document in the store; nil if nothing is known of it.
    ///
    /// Logarithmic in the number of documents.
    ///
    /// - Parameters:
    ///   - path: the document.
    ///   - user: the user whose pending writes are included; nil for the backend's last known
    ///     state.
    /// - Throws: `dataLoss` for a damaged row.
    public func document(at path: DocumentPath, asSeenBy user: UserID? = nil)
        throws(LarderError) -> Document?
    {
        var document: Document?
        try snapshot.visitDocument(at: path, asSeenBy: user) { entry throws(LarderError) in
            document = try entry.document()
        }
        return document
    }

    /// Calls a closure with a document without copying it; returns nil without a call if nothing is
    /// known of it.
    ///
    /// - Throws: errors of the closure; `dataLoss` for a damaged row.
    @inlinable
    public func withDocument<R>(
        at path: DocumentPath, asSeenBy user: UserID? = nil,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> R
    ) throws(LarderError) -> R? {
        var result: R?
        try snapshot.visitDocument(at: path, asSeenBy: user) { entry throws(LarderError) in
            result = try body(entry)
        }
        return result
    }
}

extension Snapshot {
    /// Calls a closure with a document, if it is known.
    ///
    /// Not generic, so that only its thin callers are specialised.
    @usableFromInline
    func visitDocument(
        at path: DocumentPath, asSeenBy user: UserID?,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> Void
    ) throws(LarderError) {
        // The document borrows the name's bytes, and withUTF8 does not propagate typed errors.
        var thrown: LarderError?
        var name = path.string
        name.withUTF8 { bytes in
            do throws(LarderError) {
                let name = larder_bytes(UnsafeRawBufferPointer(bytes))
                var document = larder_document()
                guard try get(name, user, &document) else { return }
                try lend(&document, at: path, to: body)
            } catch {
                thrown = error
            }
        }
        if let thrown { throw thrown }
    }

    private func get(_ name: larder_bytes, _ user: UserID?, _ document: inout larder_document)
        throws(LarderError) -> Bool
    {
        var failure = larder_error()
        let status: Int32
        if let user {
            status = withBytes(user.string) {
                larder_document_get_local(reader, $0, name, &document, &failure)
            }
        } else {
            status = larder_document_get(reader, name, &document, &failure)
        }
        guard status >= 0 else { throw error(of: status, failure) }
        return status == .ok
    }
}

/// Calls a closure with a document that the core filled in.
func lend(
    _ document: inout larder_document, at path: DocumentPath,
    to body: (borrowing DocumentEntry) throws(LarderError) -> Void
) throws(LarderError) {
    var scratch = RecordScratch()
    try withUnsafeMutablePointer(to: &document) { (document) throws(LarderError) in
        try withUnsafeMutablePointer(to: &scratch) { (scratch) throws(LarderError) in
            try body(DocumentEntry(document, scratch: scratch, path: path))
        }
    }
}

extension WriteTransaction {
    /// Stores a found document; replaces its earlier state.
    ///
    /// Indexes, accounting and the read-time order are updated in the same transaction.
    ///
    /// - Parameters:
    ///   - record: its fields.
    ///   - path: the document.
    ///   - version: the version of the fields.
    ///   - createTime: the create time; nil if unknown.
    ///   - readTime: the snapshot that the state was read at; nil for the version.
    ///   - hasCommittedMutations: true if the state is the result of an acknowledged write that the
    ///     watch stream has not confirmed yet.
    /// - Throws: `invalidArgument` for a record beyond the store's limits of depth and size.
    public mutating func put(
        _ record: Record, at path: DocumentPath, version: SnapshotVersion,
        createTime: Timestamp? = nil, readTime: SnapshotVersion? = nil,
        hasCommittedMutations: Bool = false
    ) throws(LarderError) {
        var info = Self.info(LARDER_DOCUMENT_FOUND, version, readTime, hasCommittedMutations)
        if let createTime { info.create_time = larder_time(createTime) }
        try put(record, at: path, info)
    }

    /// Records that a document does not exist.
    public mutating func putAbsent(
        at path: DocumentPath, version: SnapshotVersion, readTime: SnapshotVersion? = nil,
        hasCommittedMutations: Bool = false
    ) throws(LarderError) {
        try put(
            nil, at: path,
            Self.info(LARDER_DOCUMENT_ABSENT, version, readTime, hasCommittedMutations))
    }

    /// Records that a document exists at a version, with unknown contents.
    public mutating func putUnknown(
        at path: DocumentPath, version: SnapshotVersion, readTime: SnapshotVersion? = nil,
        hasCommittedMutations: Bool = true
    ) throws(LarderError) {
        try put(
            nil, at: path,
            Self.info(LARDER_DOCUMENT_UNKNOWN, version, readTime, hasCommittedMutations))
    }

    /// Removes the state of a document; its overlays, mutations and targets remain.
    ///
    /// - Returns: true if there was one.
    @discardableResult
    public mutating func remove(_ path: DocumentPath) throws(LarderError) -> Bool {
        let status = try call { failure in
            withBytes(path.string) { larder_document_remove(writer, $0, failure) }
        }
        return status == .ok
    }

    private static func info(
        _ state: Int, _ version: SnapshotVersion, _ readTime: SnapshotVersion?,
        _ hasCommittedMutations: Bool
    ) -> larder_document_info {
        var info = larder_document_info()
        larder_document_info_init(&info, MemoryLayout<larder_document_info>.size)
        info.state = Int32(state)
        info.flags = hasCommittedMutations ? UInt32(LARDER_DOCUMENT_COMMITTED_MUTATIONS) : 0
        info.version = larder_time(version)
        info.read_time = larder_time(readTime ?? version)
        return info
    }

    private func put(_ record: Record?, at path: DocumentPath, _ info: larder_document_info)
        throws(LarderError)
    {
        var info = info
        try withPlainBytes(record) { plain, failure in
            withBytes(path.string) { larder_document_put(writer, $0, &info, plain, failure) }
        }
    }
}

/// Calls a function of the core with the plain form of a record, empty for none.
///
/// - Throws: as ``LarderModel/Record/load()``, and errors of the core.
func withPlainBytes(
    _ record: Record?, _ function: (larder_bytes, UnsafeMutablePointer<larder_error>) -> Int32
) throws(LarderError) {
    guard let record else {
        try call { function(.none, $0) }
        return
    }
    let result: Result<Int32, LarderError> = try record.withEncodedBytes { bytes in
        Result { () throws(LarderError) in
            try call { function(larder_bytes(bytes), $0) }
        }
    }
    _ = try result.get()
}
