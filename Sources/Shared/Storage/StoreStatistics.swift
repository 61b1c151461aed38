import CLarder
public import LarderCore

/// The contents of a store and the space they occupy, as of one commit; sizes are in bytes.
public struct StoreStatistics: Hashable, Sendable {
    /// Rows of one category and what they occupy in the file's pages.
    public struct Usage: Hashable, Sendable {
        /// Rows.
        public let rowCount: Int64
        /// The space they occupy: keys, values and their share of the pages.
        public let sizeBytes: Int64
    }

    /// Records, the order by read time, and the log of uses.
    public let documents: Usage
    /// Local views of documents with pending writes.
    public let overlays: Usage
    /// Pending writes; of the Realtime Database also refused ones.
    public let mutations: Usage
    /// Entries of indexes.
    public let indexes: Usage
    /// Targets and their documents.
    public let targets: Usage
    /// The Realtime Database's trees, and their tracked queries.
    public let nodes: Usage
    /// Collections, shapes of records, dictionaries, named values.
    public let catalog: Usage

    /// The sum of the above: what the budget is compared with.
    public let totalBytes: Int64
    /// The budget; nil for an unlimited one.
    public let budgetBytes: Int64?
    /// Found documents.
    public let documentCount: Int64
    /// Documents known to be absent, or unknown.
    public let absentCount: Int64
    /// Collections that hold something.
    public let collectionCount: Int64
    /// Pending batches of all users.
    public let pendingBatchCount: Int64
    /// Records of found documents, before compression.
    public let rawRecordBytes: Int64
    /// The same records as stored.
    public let storedRecordBytes: Int64
    /// The data file's size.
    public let fileBytes: Int64
    /// The part of the data file that is free and will be reused.
    public let freeBytes: Int64
    /// The address space that is reserved for the file.
    public let mapBytes: UInt64
    /// The commit that the statistics describe.
    public let commitNumber: UInt64
    /// Documents evicted since the store was opened.
    public let evictedDocumentCount: Int64
    /// The space they occupied.
    public let evictedBytes: Int64
    /// The bytes found pinned while over budget, at the last eviction.
    public let pinnedBytes: Int64
    /// Read transactions open now, over all processes.
    public let readerCount: Int
    /// The version of the file's format.
    public let formatVersion: Int
    /// The compression dictionary for new records; nil for none.
    public let dictionaryID: UInt32?
    /// Sets of field names that records share.
    public let shapeCount: Int
}

extension ReadableTransaction where Self: ~Copyable {
    /// The contents of the store and the space they occupy, as of this transaction.
    ///
    /// The counts are kept with each write: constant time, but for the file's free pages.
    public func statistics() throws(LarderError) -> StoreStatistics {
        var stat = larder_stat()
        stat.struct_bytes = MemoryLayout<larder_stat>.size
        try call(snapshot.errorDomain) { larder_env_stat(snapshot.reader, &stat, $0) }
        return StoreStatistics(stat)
    }
}

extension Store {
    /// The contents of the store and the space they occupy, as of the newest commit.
    public func statistics() throws(LarderError) -> StoreStatistics {
        try read { transaction throws(LarderError) in try transaction.statistics() }
    }
}

extension StoreStatistics {
    fileprivate init(_ stat: larder_stat) {
        self.init(
            documents: Usage(stat.documents), overlays: Usage(stat.overlays),
            mutations: Usage(stat.mutations), indexes: Usage(stat.indexes),
            targets: Usage(stat.targets), nodes: Usage(stat.nodes),
            catalog: Usage(stat.catalog), totalBytes: stat.total_bytes,
            budgetBytes: stat.budget_bytes == Int64(LARDER_BUDGET_UNLIMITED)
                ? nil : stat.budget_bytes,
            documentCount: stat.document_count, absentCount: stat.absent_count,
            collectionCount: stat.collection_count, pendingBatchCount: stat.pending_batch_count,
            rawRecordBytes: stat.raw_record_bytes, storedRecordBytes: stat.stored_record_bytes,
            fileBytes: stat.file_bytes, freeBytes: stat.free_bytes, mapBytes: stat.map_bytes,
            commitNumber: stat.commit_number,
            evictedDocumentCount: stat.evicted_document_count, evictedBytes: stat.evicted_bytes,
            pinnedBytes: stat.pinned_bytes, readerCount: Int(stat.reader_count),
            formatVersion: Int(stat.format_version),
            dictionaryID: stat.dictionary_id == 0 ? nil : stat.dictionary_id,
            shapeCount: Int(stat.shape_count))
    }
}

extension StoreStatistics.Usage {
    fileprivate init(_ usage: larder_usage) {
        self.init(rowCount: usage.row_count, sizeBytes: usage.size_bytes)
    }
}
