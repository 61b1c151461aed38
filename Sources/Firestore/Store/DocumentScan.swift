import CLarder
public import LarderModel
public import LarderStorage

extension ReadableTransaction where Self: ~Copyable {
    /// Lends every document of a source to a closure, until it answers
    /// ``LarderModel/IterationStep/stop``.
    ///
    /// Nothing is allocated for a document that the closure only looks at. A write transaction
    /// cannot be changed from inside the closure: gather, then write. In a function with typed
    /// throws, write `{ entry throws(LarderError) in … }`.
    ///
    /// - Throws: what the closure throws; `notFound` for an index or target that is not there;
    ///   `dataLoss` for a damaged row unless ``ScanOptions/skipsDamaged``.
    public func documents(
        in source: DocumentSource, options: ScanOptions = ScanOptions(),
        _ body: (borrowing DocumentEntry) throws(LarderError) -> IterationStep
    ) throws(LarderError) {
        let scan = try DocumentScan(source, options, snapshot.reader)
        try scan.forEach(skippingDamaged: options.skipsDamaged, body)
    }

    /// Lends every document of a source to a closure that may throw any error.
    ///
    /// As the other form in everything else.
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

    /// Copies of the documents of a source, at most as many as the limit says.
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

/// How a scan goes through its documents.
public struct ScanOptions: Sendable {
    /// Whether the last document comes first.
    public var isReversed: Bool

    /// Whether names alone are read: states come as
    /// ``LarderModel/Document/State/notRead`` and records are empty.
    public var readsNamesOnly: Bool

    /// Whether documents that are known to be absent, or are unknown, come too.
    public var includesAllStates: Bool

    /// Whose pending writes are merged in; nil for documents as the backend last had them.
    public var user: UserID?

    /// Whether damaged rows are passed over; otherwise the first one ends the scan with an error.
    ///
    /// They are logged in any case.
    public var skipsDamaged: Bool

    /// Forwards, records and all, found documents only, unless said otherwise.
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

/// An open scan of the core, closed when it goes; with it the sets that it is made of.
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

    /// Lends each document to a closure until it stops or there is no further one.
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

    /// The set of a source's documents, for the caller to close.
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
            // A scan by read time is of documents as the backend last had them.
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
