import CLarder

/// Memory for the decompressed part of one record at a time, reused along a scan.
package final class RecordScratch {
    private var buffer: UnsafeMutableRawBufferPointer?
    private let loaded: UnsafeMutablePointer<larder_record>
    private var isLoaded = false

    package init() {
        loaded = .allocate(capacity: 1)
        loaded.initialize(to: larder_record())
    }

    deinit {
        loaded.deallocate()
        buffer?.deallocate()
    }

    /// Forgets the record: the next look-up may be in another one.
    package func reset() {
        isLoaded = false
    }

    /// The record with its cold part at hand; decompresses it the first time.
    func load(_ record: UnsafePointer<larder_record>)
        throws(LarderError) -> UnsafePointer<larder_record>
    {
        if isLoaded { return UnsafePointer(loaded) }
        let needed = larder_record_cold_bytes(record)
        if needed > buffer?.count ?? 0 {
            buffer?.deallocate()
            buffer = .allocate(byteCount: needed, alignment: 1)
        }
        var failure = larder_error()
        try throwIfFailed(
            larder_record_load(
                record, buffer?.baseAddress, buffer?.count ?? 0, loaded, &failure), failure)
        isLoaded = true
        return UnsafePointer(loaded)
    }
}
