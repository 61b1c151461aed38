import CLarder
public import LarderModel

/// A document passed to a closure; its contents are copied only on request.
///
/// It cannot be copied or stored; ``document()`` creates a ``LarderModel/Document``.
public struct DocumentEntry: ~Copyable {
    private let source: UnsafeMutablePointer<larder_document>
    private let scan: OpaquePointer?
    private let knownPath: DocumentPath?

    /// The fields, read in place; empty unless the document is found.
    public let record: RecordView

    /// The document's path, for in-place comparison.
    public let pathView: DocumentPathView

    /// A document filled in by the core, from an index scan or at a known path.
    init(
        _ source: UnsafeMutablePointer<larder_document>,
        scratch: UnsafeMutablePointer<RecordScratch>, scan: OpaquePointer? = nil,
        path: DocumentPath? = nil
    ) {
        self.source = source
        self.scan = scan
        knownPath = path
        record = withUnsafePointer(to: &source.pointee.record) {
            RecordView($0, scratch: scratch)
        }
        pathView = DocumentPathView(
            collection: source.pointee.collection.buffer, id: source.pointee.id.buffer)
    }

    /// The document's path.
    public var path: DocumentPath { knownPath ?? pathView.path }

    /// The path of the collection that contains the document.
    public var collection: CollectionPath {
        CollectionPath(unchecked: source.pointee.collection.text)
    }

    /// The document ID.
    public var id: String { source.pointee.id.text }

    /// Calls a closure with the bytes of the ID without copying them; valid only inside it.
    public func withUnsafeID<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        body(source.pointee.id.buffer)
    }

    /// The state of the document in the store.
    public var state: Document.State { Document.State(rawValue: source.pointee.state) ?? .notRead }

    /// The version of the contents or of the knowledge of absence; ``LarderModel/SnapshotVersion/none``
    /// with ``hasLocalMutations``.
    public var version: SnapshotVersion { source.pointee.version.version }

    /// The create time of the document; nil if unknown.
    public var createTime: Timestamp? { source.pointee.create_time.knownTimestamp }

    /// The snapshot at which the store read this state.
    public var readTime: SnapshotVersion { source.pointee.read_time.version }

    /// True if the state is a local view that includes pending writes.
    public var hasLocalMutations: Bool { has(LARDER_DOCUMENT_LOCAL_MUTATIONS) }

    /// True if the state is the result of an acknowledged write that the watch stream has not
    /// confirmed yet.
    public var hasCommittedMutations: Bool { has(LARDER_DOCUMENT_COMMITTED_MUTATIONS) }

    /// The largest pending batch that touches the document with ``hasLocalMutations``, otherwise 0.
    public var largestBatchID: Int64 { hasLocalMutations ? source.pointee.batch_id : 0 }

    /// The storage occupied by its row, in bytes.
    public var storedBytes: Int64 { source.pointee.stored_bytes }

    /// In an index scan, the order bytes of the entry, which the core truncates to 240 bytes; nil
    /// in other scans.
    public var indexOrderBytes: [UInt8]? {
        guard let scan else { return nil }
        var bytes = larder_bytes()
        return larder_index_scan_entry(scan, &bytes, nil) == .ok ? bytes.array : nil
    }

    /// Calls a closure with the order bytes of the entry without copying them; returns nil without
    /// a call outside of index scans.
    public func withUnsafeIndexOrderBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
        guard let scan else { return nil }
        var bytes = larder_bytes()
        guard larder_index_scan_entry(scan, &bytes, nil) == .ok else { return nil }
        return body(bytes.buffer)
    }

    /// A copy that outlives the closure, the transaction and the store.
    ///
    /// Linear in the stored size of the record, which is copied in its stored form; see
    /// ``LarderModel/Record``.
    ///
    /// - Throws: `dataLoss` if the checksum of the compressed part does not match.
    public func document() throws(LarderError) -> Document {
        Document(
            path: path, state: state, record: state == .found ? try record.copy() : nil,
            version: version, createTime: createTime, readTime: readTime,
            hasLocalMutations: hasLocalMutations, hasCommittedMutations: hasCommittedMutations,
            largestBatchID: largestBatchID, storedBytes: storedBytes)
    }

    private func has(_ flag: Int) -> Bool { source.pointee.flags & UInt32(flag) != 0 }
}
