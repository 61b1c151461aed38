import CLarder

/// Memory for the decompressed part of one record at a time, reused along a scan.
///
/// A scan keeps it in a variable and lends its address to the views of its records; it frees
/// the memory at the end.
package struct RecordScratch: ~Copyable {
    private var loaded = larder_record()
    private var isLoaded = false
    private var buffer: UnsafeMutableRawBufferPointer?

    /// Empty.
    package init() {}

    deinit {
        buffer?.deallocate()
    }

    /// Forgets the record: the next look-up may be in another one.
    package mutating func reset() {
        isLoaded = false
    }

    /// The record with its cold part at hand; decompresses it the first time.
    static func load(
        _ record: UnsafePointer<larder_record>, into scratch: UnsafeMutablePointer<RecordScratch>
    ) throws(LarderError) -> UnsafePointer<larder_record> {
        if !scratch.pointee.isLoaded { try scratch.pointee.load(record) }
        return withUnsafeMutablePointer(to: &scratch.pointee.loaded) { UnsafePointer($0) }
    }

    private mutating func load(_ record: UnsafePointer<larder_record>) throws(LarderError) {
        let needed = larder_record_cold_bytes(record)
        if needed > buffer?.count ?? 0 {
            buffer?.deallocate()
            buffer = .allocate(byteCount: needed, alignment: 1)
        }
        var failure = larder_error()
        try throwIfFailed(
            larder_record_load(
                record, buffer?.baseAddress, buffer?.count ?? 0, &loaded, &failure), failure)
        isLoaded = true
    }
}
