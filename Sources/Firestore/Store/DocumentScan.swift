import CLarder
public import LarderModel
public import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// Calls a closure with every document of a source, until it returns `stop`.
    ///
    /// Allocates nothing for documents that the closure does not copy. The closure must not change
    /// a write transaction: collect first, then write. In a function with typed throws, write `{
    /// entry throws(LarderError) in … }`.
    ///
    /// - Throws: errors of the closure; `notFound` for a missing index or target; `dataLoss` for a
    ///   damaged row unless `ScanOptions.skipsDamaged`.
    public func documents(
        in source: DocumentSource, options: ScanOptions = ScanOptions(),
        _ body: (borrowing DocumentEntry) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        let scan = try DocumentScan(source, options, snapshot.reader)
        try scan.forEach(skippingDamaged: options.skipsDamaged, body)
    }

    /// Calls a closure with every document of a source; the closure can throw any error.
    ///
    /// Otherwise identical to the form with typed errors.
    @_disfavoredOverload
    public func documents(
        in source: DocumentSource, options: ScanOptions = ScanOptions(),
        _ body: (borrowing DocumentEntry) throws -> IterationStep
    ) throws {
        var failure: (any Error)?
        try documents(in: source, options: options) { entry throws(LarderError) in
            do {
                return try body(entry)
            } catch {
                failure = error
                return .stop
            }
        }
        if let failure { throw failure }
    }

    /// Copies the documents of a source, up to the limit.
    ///
    /// Linear in the size of the records.
    public func allDocuments(
        in source: DocumentSource, options: ScanOptions = ScanOptions(), limit: Int = .max
    ) throws(LarderError) -> [Document] {
        var documents: [Document] = []
        guard limit > 0 else { return documents }
        try self.documents(in: source, options: options) { entry throws(LarderError) in
            documents.append(try entry.document())
            return documents.count < limit ? .continue : .stop
        }
        return documents
    }
}

/// The options of a scan.
public struct ScanOptions: Sendable {
    /// True if the scan runs from the last document to the first.
    public var isReversed: Bool

    /// True if only names are read: states are then ``LarderModel/Document/State/notRead`` and
    /// records are empty.
    public var readsNamesOnly: Bool

    /// True if absent and unknown documents are included.
    public var includesAllStates: Bool

    /// The user whose pending writes are included; nil for the backend's last known states.
    public var user: UserID?

    /// True if damaged rows are skipped and logged; otherwise the first one ends the scan with an
    /// error.
    public var skipsDamaged: Bool

    /// Creates options, by default for a forward scan of found documents with their records.
    public init(
        isReversed: Bool = false, readsNamesOnly: Bool = false, includesAllStates: Bool = false,
        user: UserID? = nil, skipsDamaged: Bool = false
    ) {
        self.isReversed = isReversed
        self.readsNamesOnly = readsNamesOnly
        self.includesAllStates = includesAllStates
        self.user = user
        self.skipsDamaged = skipsDamaged
    }
}

/// An open scan of the core and the sets it consists of, closed on deinitialisation.
struct DocumentScan: ~Copyable {
    let handle: OpaquePointer
    private let set: OpaquePointer?
    private let isIndexScan: Bool

    /// Opens a scan of a source through a transaction, which must outlive it.
    init(_ source: DocumentSource, _ options: ScanOptions, _ reader: OpaquePointer)
        throws(LarderError)
    {
        var opened: OpaquePointer?
        var set: OpaquePointer?
        switch source.kind {
        case .union, .intersection:
            var inner = options
            inner.readsNamesOnly = true
            inner.isReversed = false
            set = try Self.makeSet(source, inner, reader)
        default:
            break
        }
        do throws(LarderError) {
            let status = try source.withBounds(options) { (bounds) throws(LarderError) in
                try call { failure in
                    guard let set else {
                        return source.open(reader, bounds, &opened, failure)
                    }
                    return larder_set_scan(set, bounds, &opened, failure)
                }
            }
            guard status != .notFound else { throw LarderError(status: status) }
        } catch {
            larder_set_close(set)
            throw error
        }
        guard let opened else {
            larder_set_close(set)
            throw LarderError(status: .noMemory)
        }
        handle = opened
        self.set = set
        if case .index = source.kind { isIndexScan = true } else { isIndexScan = false }
    }

    deinit {
        larder_scan_close(handle)
        larder_set_close(set)
    }

    /// Calls a closure with each document until it stops the scan or the scan ends.
    borrowing func forEach(
        skippingDamaged: Bool,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        var document = larder_document()
        var scratch = RecordScratch()
        try withUnsafeMutablePointer(to: &document) { (document) throws(LarderError) in
            try withUnsafeMutablePointer(to: &scratch) { (scratch) throws(LarderError) in
                try visit(document, scratch, skippingDamaged, body)
            }
        }
    }

    private borrowing func visit(
        _ document: UnsafeMutablePointer<larder_document>,
        _ scratch: UnsafeMutablePointer<RecordScratch>, _ skippingDamaged: Bool,
        _ body: (borrowing DocumentEntry) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        var failure = larder_error()
        while true {
            let status = larder_scan_next(handle, document, &failure)
            if status == .end { return }
            if status == .corrupt, skippingDamaged { continue }
            guard status == .ok else { throw error(of: status, failure) }
            scratch.pointee.reset()
            let entry = DocumentEntry(
                document, scratch: scratch, scan: isIndexScan ? handle : nil)
            if try body(entry) == .stop { return }
        }
    }

    /// The set of a source's documents; the caller closes it.
    private static func makeSet(
        _ source: DocumentSource, _ options: ScanOptions, _ reader: OpaquePointer
    ) throws(LarderError) -> OpaquePointer {
        var created: OpaquePointer?
        try call { larder_set_create(reader, &created, $0) }
        guard let set = created else { throw LarderError(status: .noMemory) }
        do throws(LarderError) {
            try fill(set, source, options, reader)
            return set
        } catch {
            larder_set_close(set)
            throw error
        }
    }

    private static func fill(
        _ set: OpaquePointer, _ source: DocumentSource, _ options: ScanOptions,
        _ reader: OpaquePointer
    ) throws(LarderError) {
        let isUnion: Bool
        let parts: [DocumentSource]
        switch source.kind {
        case .union(let sources): (isUnion, parts) = (true, sources)
        case .intersection(let sources): (isUnion, parts) = (false, sources)
        default:
            var options = options
            // Read times order the backend's documents, without local views.
            if case .readTime = source.kind { options.user = nil }
            let scan = try DocumentScan(source, options, reader)
            try call { larder_set_add_scan(set, scan.handle, $0) }
            return
        }
        guard let first = parts.first else { return }
        try fill(set, first, options, reader)
        for part in parts.dropFirst() {
            let other = try makeSet(part, options, reader)
            defer { larder_set_close(other) }
            try call {
                isUnion
                    ? larder_set_union(set, other, $0) : larder_set_intersect(set, other, $0)
            }
        }
    }
}
