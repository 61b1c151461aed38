import CLarder
public import LarderModel

extension ReadableTransaction where Self: ~Copyable {
    /// The store's compression dictionaries, in order of their ids.
    public func dictionaries() throws(LarderError) -> [CompressionDictionary] {
        var dictionaries: [CompressionDictionary] = []
        while true {
            var next = larder_dictionary()
            let status = try call {
                larder_dictionary_next(snapshot.reader, dictionaries.last?.id ?? 0, &next, $0)
            }
            guard status == .ok else { return dictionaries }
            dictionaries.append(
                CompressionDictionary(
                    id: next.dictionary_id, sizeBytes: next.size_bytes,
                    recordCount: next.record_count))
        }
    }

    /// Compresses bytes into a frame of their own, for callers that keep large payloads.
    public func compress(_ raw: [UInt8]) throws(LarderError) -> [UInt8] {
        let reader = snapshot.reader
        return try filledBuffer(capacity: raw.count + 64) { buffer, capacity, needed, failure in
            withBytes(raw) {
                larder_blob_compress(reader, $0, buffer, capacity, needed, failure)
            }
        }
    }

    /// Takes back what ``compress(_:)`` made.
    ///
    /// - Parameters:
    ///   - frame: the compressed bytes.
    ///   - maxBytes: what they may become; checked before anything is done.
    /// - Throws: `invalidArgument` for a frame that claims more; `dataLoss` for a damaged one.
    public func decompress(_ frame: [UInt8], maxBytes: Int) throws(LarderError) -> [UInt8] {
        guard maxBytes >= 0 else { throw .invalidArgument("maxBytes is below 0") }
        let reader = snapshot.reader
        return try filledBuffer(capacity: 0) { buffer, capacity, needed, failure in
            withBytes(frame) {
                larder_blob_decompress(
                    reader, $0, maxBytes, buffer, capacity, needed, failure)
            }
        }
    }
}

/// Calls a function that fills a buffer, again with a larger one where the first is too small.
private func filledBuffer(
    capacity: Int,
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
        guard status >= 0 else { throw error(of: status, failure) }
        return bytes
    }
}
