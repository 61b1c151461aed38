import CLarder
public import LarderModel

/// The documents that a scan yields, and their order.
public struct DocumentSource: Sendable {
    indirect enum Kind: Sendable {
        case collection(CollectionPath, ScanBounds)
        case group(String, ScanBounds)
        case readTime(CollectionPath, SnapshotVersion, afterID: String)
        case target(Int32)
        case index(UInt32, CollectionPath?, ScanBounds)
        case overlays(UserID, CollectionPath, since: Int64)
        case groupOverlays(UserID, String, since: Int64)
        case batchOverlays(UserID, Int64)
        case union([DocumentSource])
        case intersection([DocumentSource])
    }

    let kind: Kind

    /// The documents directly in a collection, in name order.
    ///
    /// - Parameters:
    ///   - path: the collection.
    ///   - start: the first document id; nil for the first of the collection.
    ///   - end: the last document id; nil for the last of the collection.
    public static func collection(
        _ path: CollectionPath, from start: ScanBound? = nil, to end: ScanBound? = nil
    ) -> DocumentSource {
        DocumentSource(kind: .collection(path, ScanBounds(start: start, end: end)))
    }

    /// The documents of all collections with an ID, in name order.
    ///
    /// - Parameters:
    ///   - id: the collections' id.
    ///   - start: the first document path; nil for the first of the group.
    ///   - end: the last document path; nil for the last of the group.
    public static func group(
        _ id: String, from start: ScanBound? = nil, to end: ScanBound? = nil
    ) -> DocumentSource {
        DocumentSource(kind: .group(id, ScanBounds(start: start, end: end)))
    }

    /// The documents of a collection in the order of read time and name, starting after a version,
    /// or at it after a document ID.
    public static func readSince(
        _ version: SnapshotVersion, afterID id: String = "", in path: CollectionPath
    ) -> DocumentSource {
        DocumentSource(kind: .readTime(path, version, afterID: id))
    }

    /// The documents of a collection in the order of read time and name, starting after a version.
    public static func readAfter(
        _ version: SnapshotVersion, in path: CollectionPath
    ) -> DocumentSource {
        let (seconds, nanoseconds) = (version.timestamp.seconds, version.timestamp.nanoseconds)
        if nanoseconds < 999_999_999 {
            let next = Timestamp(seconds: seconds, nanoseconds: nanoseconds + 1)
            return readSince(SnapshotVersion(next), in: path)
        }
        // There is no year 10000; at the last valid time one document too many may be included.
        guard seconds < Timestamp.validSeconds.upperBound else {
            return readSince(version, in: path)
        }
        let next = Timestamp(seconds: seconds + 1, nanoseconds: 0)
        return readSince(SnapshotVersion(next), in: path)
    }

    /// The documents of a target.
    ///
    /// With ``ScanOptions/includesAllStates``, includes documents that the store does not know as
    /// ``LarderModel/Document/State/notRead``.
    public static func target(_ id: Int32) -> DocumentSource {
        DocumentSource(kind: .target(id))
    }

    /// The documents with index entries between two bounds, in entry order.
    ///
    /// Entries are truncated to 240 bytes, so that results of an index must be tested again.
    ///
    /// - Parameters:
    ///   - id: the index; see ``IndexInfo/isComplete``.
    ///   - collection: one collection; nil for the whole group.
    ///   - start: order bytes of the first segments, or of all.
    ///   - end: order bytes of the first segments, or of all.
    public static func index(
        _ id: UInt32, in collection: CollectionPath? = nil, from start: ScanBound? = nil,
        to end: ScanBound? = nil
    ) -> DocumentSource {
        DocumentSource(kind: .index(id, collection, ScanBounds(start: start, end: end)))
    }

    /// A user's overlays in a collection, saved under a batch above the given one.
    public static func overlays(
        of user: UserID, in path: CollectionPath, sinceBatch batch: Int64 = 0
    ) -> DocumentSource {
        DocumentSource(kind: .overlays(user, path, since: batch))
    }

    /// A user's overlays in all collections with an ID, saved under a batch above the given one.
    public static func overlays(
        of user: UserID, inGroup id: String, sinceBatch batch: Int64 = 0
    ) -> DocumentSource {
        DocumentSource(kind: .groupOverlays(user, id, since: batch))
    }

    /// A user's overlays that were saved under one batch.
    public static func overlays(of user: UserID, savedUnder batch: Int64) -> DocumentSource {
        DocumentSource(kind: .batchOverlays(user, batch))
    }

    /// The union of sources, without duplicates, in name order within each collection.
    public static func union(_ sources: [DocumentSource]) -> DocumentSource {
        DocumentSource(kind: .union(sources))
    }

    /// The intersection of sources, in name order within each collection.
    public static func intersection(_ sources: [DocumentSource]) -> DocumentSource {
        DocumentSource(kind: .intersection(sources))
    }
}

/// An end of a range of names or index entries.
public struct ScanBound: Hashable, Sendable {
    /// A document ID, a document path or order bytes, depending on the source.
    let bytes: [UInt8]

    /// True if the range includes the bound.
    public let isInclusive: Bool

    /// A bound at a document ID, for a collection.
    public static func id(_ id: String, isInclusive: Bool = true) -> ScanBound {
        ScanBound(bytes: Array(id.utf8), isInclusive: isInclusive)
    }

    /// A bound at a document, for a collection group.
    public static func path(_ path: DocumentPath, isInclusive: Bool = true) -> ScanBound {
        ScanBound(bytes: Array(path.string.utf8), isInclusive: isInclusive)
    }

    /// A bound at order bytes, for an index; see ``LarderModel/EncodedValue/orderBytes(isDescending:)``.
    public static func orderBytes(_ bytes: [UInt8], isInclusive: Bool = true) -> ScanBound {
        ScanBound(bytes: bytes, isInclusive: isInclusive)
    }
}

struct ScanBounds: Sendable {
    var start: ScanBound?
    var end: ScanBound?
}

extension DocumentSource {
    /// Calls with the core's options for the source's bounds.
    func withBounds<R>(
        _ options: ScanOptions,
        _ body: (UnsafePointer<larder_scan_options>) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        var core = larder_scan_options()
        larder_scan_options_init(&core, MemoryLayout<larder_scan_options>.size)
        var flags = 0
        if options.isReversed { flags |= LARDER_SCAN_REVERSE }
        if options.readsNamesOnly { flags |= LARDER_SCAN_KEYS_ONLY }
        if options.includesAllStates { flags |= LARDER_SCAN_ALL_STATES }
        if options.user != nil { flags |= LARDER_SCAN_LOCAL_VIEW }
        let bounds = bounds
        if bounds.start?.isInclusive == false { flags |= LARDER_SCAN_START_AFTER }
        if bounds.end?.isInclusive == true { flags |= LARDER_SCAN_END_AT }
        core.flags = UInt32(flags)
        // The core copies its input when it opens the scan.
        let result: Result<R, LarderError> = withBytes(options.user?.string ?? "") { user in
            withBytes(bounds.start?.bytes ?? []) { start in
                withBytes(bounds.end?.bytes ?? []) { end in
                    core.user = user
                    core.start = start
                    core.end = end
                    return Result { () throws(LarderError) in try body(&core) }
                }
            }
        }
        return try result.get()
    }

    private var bounds: ScanBounds {
        switch kind {
        case .collection(_, let bounds), .group(_, let bounds), .index(_, _, let bounds): bounds
        default: ScanBounds()
        }
    }

    /// Opens the core's scan of a source that is not a set.
    func open(
        _ reader: OpaquePointer, _ options: UnsafePointer<larder_scan_options>,
        _ scan: UnsafeMutablePointer<OpaquePointer?>, _ failure: UnsafeMutablePointer<larder_error>
    ) -> Int32 {
        switch kind {
        case .collection(let path, _):
            withBytes(path.string) { larder_scan_collection(reader, $0, options, scan, failure) }
        case .group(let id, _):
            withBytes(id) { larder_scan_group(reader, $0, options, scan, failure) }
        case .readTime(let path, let since, let id):
            withBytes(path.string) { path in
                withBytes(id) {
                    larder_scan_read_time(
                        reader, path, larder_time(since), $0, options, scan, failure)
                }
            }
        case .target(let id):
            larder_target_scan(reader, id, options, scan, failure)
        case .index(let id, let path, _):
            withBytes(path?.string ?? "") {
                larder_index_scan(reader, id, $0, options, scan, failure)
            }
        case .overlays(let user, let path, let since):
            withBytes(user.string) { user in
                withBytes(path.string) {
                    larder_overlay_scan_collection(reader, user, $0, since, scan, failure)
                }
            }
        case .groupOverlays(let user, let id, let since):
            withBytes(user.string) { user in
                withBytes(id) {
                    larder_overlay_scan_group(reader, user, $0, since, scan, failure)
                }
            }
        case .batchOverlays(let user, let batch):
            withBytes(user.string) {
                larder_overlay_scan_batch(reader, $0, batch, scan, failure)
            }
        case .union, .intersection:
            Int32(LARDER_E_INVALID_ARGUMENT)
        }
    }
}
