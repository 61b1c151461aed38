import CLarder
public import LarderModel
public import LarderStorage

/// The contents of one collection in the store.
public struct CollectionInfo: Hashable, Sendable {
    /// The collection.
    public let path: CollectionPath

    /// The number of documents directly in the collection.
    public let documentCount: Int64

    /// The storage occupied by its documents' rows, in bytes.
    public let sizeBytes: Int64
}

extension ReadableTransaction where Self: ~Copyable {
    /// The contents of a collection in the store; nil if there are none.
    public func collection(at path: CollectionPath) throws(LarderError) -> CollectionInfo? {
        var collection = larder_collection()
        let status = try call { failure in
            withBytes(path.string) {
                larder_collection_get(snapshot.reader, $0, &collection, failure)
            }
        }
        return status == .ok ? CollectionInfo(collection, path) : nil
    }

    /// Calls a closure with each collection in path order, until it returns `stop`.
    ///
    /// - Parameters:
    ///   - parent: the document whose direct subcollections to visit; nil for all collections of
    ///     the store.
    ///   - body: called with each collection.
    public func collections(
        below parent: DocumentPath? = nil, _ body: (CollectionInfo) -> IterationStep
    ) throws(LarderError) {
        var scan: OpaquePointer?
        try call { failure in
            withBytes(parent?.string ?? "") {
                larder_collection_scan(snapshot.reader, $0, &scan, failure)
            }
        }
        defer { larder_scan_close(scan) }
        var collection = larder_collection()
        while try call({ larder_collection_next(scan, &collection, $0) }) == .ok {
            let path = CollectionPath(unchecked: collection.path.text)
            if body(CollectionInfo(collection, path)) == .stop { return }
        }
    }

    /// All collections of the store, or those directly below a document, in path order.
    public func allCollections(below parent: DocumentPath? = nil)
        throws(LarderError) -> [CollectionInfo]
    {
        var collections: [CollectionInfo] = []
        try self.collections(below: parent) {
            collections.append($0)
            return .continue
        }
        return collections
    }
}

extension CollectionInfo {
    fileprivate init(_ collection: larder_collection, _ path: CollectionPath) {
        self.init(
            path: path, documentCount: collection.document_count,
            sizeBytes: collection.size_bytes)
    }
}

/// The local view of a user.
extension ReadableTransaction where Self: ~Copyable {
    /// The collections with documents, or with documents that pending writes of a user touch, in
    /// path order.
    ///
    /// Linear in the number of collections and of the user's pending writes.
    ///
    /// - Parameter user: nil for no pending writes.
    public func collectionPaths(asSeenBy user: UserID?) throws(LarderError) -> [CollectionPath] {
        let touched = try collectionsWithPendingWrites(of: user)
        return touched.union(try allCollections().map(\.path)).sorted()
    }

    /// The collections with documents that a user sees, and the number of those documents, in path
    /// order.
    ///
    /// Also linear in the documents of collections with pending writes.
    ///
    /// - Parameters:
    ///   - user: the user whose pending writes are applied.
    ///   - parent: the document whose direct subcollections to list; nil for all collections.
    public func allCollections(asSeenBy user: UserID, below parent: DocumentPath? = nil)
        throws(LarderError) -> [CollectionInfo]
    {
        var collections: [CollectionPath: CollectionInfo] = [:]
        for info in try allCollections(below: parent) { collections[info.path] = info }
        for path in try collectionsWithPendingWrites(of: user)
        where parent == nil || path.parent == parent {
            var count: Int64 = 0
            try documents(
                in: .collection(path), options: ScanOptions(readsNamesOnly: true, user: user)
            ) { _ in
                count += 1
                return .continue
            }
            collections[path] =
                count == 0
                ? nil
                : CollectionInfo(
                    path: path, documentCount: count,
                    sizeBytes: collections[path]?.sizeBytes ?? 0)
        }
        return collections.values.sorted { $0.path < $1.path }
    }

    private func collectionsWithPendingWrites(of user: UserID?)
        throws(LarderError) -> Set<CollectionPath>
    {
        var paths = Set<CollectionPath>()
        var last: Int64 = 0
        while let user, let batch = try nextMutationBatch(after: last, of: user) {
            for document in batch.documents { paths.insert(document.path.parent) }
            last = batch.id
        }
        return paths
    }
}
