import CLarder
public import LarderCore

/// A compression dictionary of the store.
public struct CompressionDictionary: Hashable, Sendable {
    /// The dictionary's id, above 0.
    public let id: UInt32
    /// Its size.
    public let sizeBytes: Int64
    /// Records that need it.
    public let recordCount: Int64
}

/// The result of training a compression dictionary.
public struct TrainingResult: Hashable, Sendable {
    /// The new dictionary's id.
    public let dictionaryID: UInt32
    /// Compressed parts of records that it was trained from.
    public let sampleCount: Int
    /// Their size before compression.
    public let sampleBytes: Int64
    /// The dictionary's size.
    public let dictionaryBytes: Int64
    /// Samples kept out of training, compressed with what was in use before.
    public let beforeBytes: Int64
    /// The same samples compressed with the new dictionary.
    public let afterBytes: Int64
}

/// The result of a step of recompressing records.
public struct RepackProgress: Hashable, Sendable {
    /// True if every record uses the newest dictionary.
    public let isComplete: Bool
    /// Records that became smaller in this step.
    public let changedCount: Int64
}

/// The position from which recompression continues.
public struct RepackCursor: Sendable {
    var position = larder_repack()

    /// The first record.
    public init() {}
}

extension ReadableTransaction where Self: ~Copyable {
    /// The store's compression dictionaries, in order of their ids.
    public func dictionaries() throws(LarderError) -> [CompressionDictionary] {
        var dictionaries: [CompressionDictionary] = []
        while true {
            var next = larder_dictionary()
            let status = try call(snapshot.errorDomain) {
                larder_dictionary_next(snapshot.reader, dictionaries.last?.id ?? 0, &next, $0)
            }
            guard status == .ok else { return dictionaries }
            dictionaries.append(
                CompressionDictionary(
                    id: next.dictionary_id, sizeBytes: next.size_bytes,
                    recordCount: next.record_count))
        }
    }

    /// Compresses bytes into a frame, for callers that store large payloads.
    public func compress(_ raw: [UInt8]) throws(LarderError) -> [UInt8] {
        let reader = snapshot.reader
        return try filledBuffer(snapshot.errorDomain, capacity: raw.count + 64) {
            buffer, capacity, needed, failure in
            withBytes(raw) {
                larder_blob_compress(reader, $0, buffer, capacity, needed, failure)
            }
        }
    }

    /// Decompresses a frame that ``compress(_:)`` made.
    ///
    /// - Parameters:
    ///   - frame: the compressed bytes.
    ///   - maxBytes: the maximum decompressed size; checked before decompression.
    /// - Throws: `invalidArgument` for a frame that claims more; `dataLoss` for a damaged one.
    public func decompress(_ frame: [UInt8], maxBytes: Int) throws(LarderError) -> [UInt8] {
        guard maxBytes >= 0 else {
            throw error(
                ofArgument: "maxBytes is \(maxBytes); it is at least 0", snapshot.errorDomain)
        }
        let reader = snapshot.reader
        return try filledBuffer(snapshot.errorDomain, capacity: 0) {
            buffer, capacity, needed, failure in
            withBytes(frame) {
                larder_blob_decompress(
                    reader, $0, maxBytes, buffer, capacity, needed, failure)
            }
        }
    }
}

/// Calls a function that fills a buffer, and again with a larger buffer if the first is too small.
private func filledBuffer(
    _ domain: String, capacity: Int,
    _ fill: (
        UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>, UnsafeMutablePointer<larder_error>
    ) -> Int32
) throws(LarderError) -> [UInt8] {
    var capacity = capacity
    while true {
        var (needed, status) = (0, Int32.ok)
        var failure = larder_error()
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            status = fill(buffer.baseAddress, capacity, &needed, &failure)
            count = status == .ok ? needed : 0
        }
        if status == .bufferTooSmall, needed > capacity {
            capacity = needed
            continue
        }
        guard status >= 0 else { throw error(of: status, failure, domain) }
        return bytes
    }
}

extension WriteTransaction {
    /// Trains a compression dictionary from the store's own records, for records written from now
    /// on; older records stay readable.
    ///
    /// Takes a few tenths of a second with the default sizes.
    ///
    /// - Parameters:
    ///   - dictionaryBytes: the dictionary's size; 0 for 8 KiB.
    ///   - maxSampleBytes: the amount of data to train from; 0 for 256 KiB.
    /// - Returns: nil, with nothing changed, when there are too few compressed parts or the new
    ///   dictionary would not be smaller.
    public mutating func trainDictionary(dictionaryBytes: Int = 0, maxSampleBytes: Int = 0)
        throws(LarderError) -> TrainingResult?
    {
        guard dictionaryBytes >= 0, maxSampleBytes >= 0 else {
            throw error(
                ofArgument: "dictionaryBytes is \(dictionaryBytes) and maxSampleBytes "
                    + "\(maxSampleBytes); they are at least 0", snapshot.errorDomain)
        }
        var result = larder_train_result()
        let status = try call(snapshot.errorDomain) {
            larder_blob_train(writer, dictionaryBytes, maxSampleBytes, &result, $0)
        }
        guard status == .ok else { return nil }
        return TrainingResult(
            dictionaryID: result.dictionary_id, sampleCount: Int(result.sample_count),
            sampleBytes: result.sample_bytes, dictionaryBytes: result.dictionary_bytes,
            beforeBytes: result.before_bytes, afterBytes: result.after_bytes)
    }

    /// Recompresses documents that use an older dictionary or none, in one bounded step.
    ///
    /// - Parameters:
    ///   - maxDocuments: the number of documents to examine.
    ///   - cursor: the start of this step; set to the start of the next one.
    public mutating func repack(maxDocuments: Int64, from cursor: inout RepackCursor)
        throws(LarderError) -> RepackProgress
    {
        var changed: Int64 = 0
        let status = try call(snapshot.errorDomain) {
            larder_blob_repack(writer, maxDocuments, &cursor.position, &changed, $0)
        }
        return RepackProgress(isComplete: status == .ok, changedCount: changed)
    }
}
