import LarderModel
import LarderStorage

/// Documents while batches are applied to them, each batch in one pass over its mutations.
struct WorkingSet {
    /// The documents; mutations of others are passed over.
    var documents: [DocumentPath: WorkingDocument] = [:]
    private let builder: RecordBuilder

    init(using builder: RecordBuilder) {
        self.builder = builder
    }

    /// Applies mutations that wait for the backend.
    ///
    /// Linear in their number, also where many are of one document.
    mutating func apply(_ mutations: [Mutation], localWriteTime: Timestamp) throws(LarderError) {
        for mutation in mutations {
            try documents[mutation.path]?.apply(
                mutation, localWriteTime: localWriteTime, using: builder)
        }
    }

    /// Applies a batch of the queue, after those before it.
    ///
    /// The base of its increments counts for documents of which the cache has another version
    /// than when the batch was written: the increment may be in that one. As long as the cache
    /// has the same, the increment counts from what the batches before it leave, so that it stays
    /// right when one of those is cancelled.
    mutating func apply(_ batch: MutationBatch) throws(LarderError) {
        let contents = try BatchContents(payload: batch.payload)
        if !contents.baseMutations.isEmpty {
            var moved = Set<DocumentPath>()
            for touched in batch.documents
            where documents[touched.path]?.cachedVersion != touched.baseVersion {
                moved.insert(touched.path)
            }
            try apply(
                contents.baseMutations.filter { moved.contains($0.path) },
                localWriteTime: batch.localWriteTime)
        }
        try apply(contents.mutations, localWriteTime: batch.localWriteTime)
    }
}
