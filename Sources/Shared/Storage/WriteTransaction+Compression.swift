import CLarder
public import LarderModel

extension WriteTransaction {
    /// Trains a compression dictionary from the store's own records, for what is written from
    /// now on; older ones stay readable.
    ///
    /// Takes some tenths of a second for the default sizes.
    ///
    /// - Parameters:
    ///   - dictionaryBytes: the dictionary's size; 0 for 8 KiB.
    ///   - maxSampleBytes: what to train from; 0 for 256 KiB.
    /// - Returns: nil, with nothing changed, when there are too few compressed parts or the new
    ///   dictionary would not be smaller.
    public mutating func trainDictionary(dictionaryBytes: Int = 0, maxSampleBytes: Int = 0)
        throws(LarderError) -> TrainingResult?
    {
        guard dictionaryBytes >= 0, maxSampleBytes >= 0 else {
            throw .invalidArgument("a size to train with is below 0")
        }
        var result = larder_train_result()
        let status = try call {
            larder_blob_train(writer, dictionaryBytes, maxSampleBytes, &result, $0)
        }
        guard status == .ok else { return nil }
        return TrainingResult(
            dictionaryID: result.dictionary_id, sampleCount: Int(result.sample_count),
            sampleBytes: result.sample_bytes, dictionaryBytes: result.dictionary_bytes,
            beforeBytes: result.before_bytes, afterBytes: result.after_bytes)
    }

    /// Compresses documents again that use an older dictionary or none, in one bounded step.
    ///
    /// - Parameters:
    ///   - maxDocuments: documents to look at.
    ///   - cursor: where to begin; moves to where the next step begins.
    public mutating func repack(maxDocuments: Int64, from cursor: inout RepackCursor)
        throws(LarderError) -> RepackProgress
    {
        var changed: Int64 = 0
        let status = try call {
            larder_blob_repack(writer, maxDocuments, &cursor.position, &changed, $0)
        }
        return RepackProgress(isComplete: status == .ok, changedCount: changed)
    }
}
