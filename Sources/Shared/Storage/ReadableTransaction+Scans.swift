public import LarderModel

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
