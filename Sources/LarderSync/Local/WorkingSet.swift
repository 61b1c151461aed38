import LarderModel

/// Documents while batches are applied to them, each batch in one pass over its mutations.
struct WorkingSet {
    /// The documents; mutations of others are passed over.
    var documents: [DocumentPath: WorkingDocument] = [:]
    private let builder: RecordBuilder

    init(using builder: RecordBuilder) {
        self.builder = builder
    }

    /// Applies a batch that waits for the backend.
    ///
    /// Linear in the number of its mutations, also where many are of one document.
    mutating func apply(_ batch: BatchContents, localWriteTime: Timestamp) throws(LarderError) {
        for mutations in [batch.baseMutations, batch.mutations] {
            for mutation in mutations {
                try documents[mutation.path]?.apply(
                    mutation, localWriteTime: localWriteTime, using: builder)
            }
        }
    }
}
