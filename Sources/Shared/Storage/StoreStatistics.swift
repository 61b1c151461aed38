/// What a store holds and occupies, as of one commit; sizes in bytes.
public struct StoreStatistics: Hashable, Sendable {
    /// Rows of one category and what they occupy in the file's pages.
    public struct Usage: Hashable, Sendable {
        /// Rows.
        public let rowCount: Int64
        /// What they occupy: keys, values and their share of the pages.
        public let sizeBytes: Int64
    }

    /// Records, the order by read time, and the log of uses.
    public let documents: Usage
    /// Local views of documents with pending writes.
    public let overlays: Usage
    /// Pending writes.
    public let mutations: Usage
    /// Entries of indexes.
    public let indexes: Usage
    /// Targets and their documents.
    public let targets: Usage
    /// The Realtime Database's tree.
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
    /// What of the data file holds nothing and will be used again.
    public let freeBytes: Int64
    /// The address space that is reserved for the file.
    public let mapBytes: UInt64
    /// The commit that this is about.
    public let commitNumber: UInt64
    /// Documents evicted since the store was opened.
    public let evictedDocumentCount: Int64
    /// What they occupied.
    public let evictedBytes: Int64
    /// What was found pinned while over budget, at the last eviction.
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
