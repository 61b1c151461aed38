import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// What the store holds and occupies, as of this transaction.
    ///
    /// The counts are kept with each write: constant time, but for the file's free pages.
    public func statistics() throws(LarderError) -> StoreStatistics {
        var stat = larder_stat()
        stat.struct_bytes = MemoryLayout<larder_stat>.size
        try call { larder_env_stat(snapshot.reader, &stat, $0) }
        return StoreStatistics(stat)
    }
}

extension Store {
    /// What the store holds and occupies, as of the newest commit.
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
