import CLarder

/// A record in a single allocation, whose elements contain the core's detached record.
///
/// A record from a store stays in its stored form; its compressed part is decompressed once, on
/// first use, by any thread.
final class RecordStorage: ManagedBuffer<RecordStorage.Header, UInt64> {
    /// The layout of the elements.
    struct Header {
        var handle: OpaquePointer?
        var record: UnsafePointer<larder_record>
    }

    /// Copies a record in its stored form.
    ///
    /// - Throws: `dataLoss` if the checksum of its compressed part does not match.
    static func copying(_ record: UnsafePointer<larder_record>)
        throws(LarderError) -> RecordStorage
    {
        var needed = 0
        var handle: OpaquePointer?
        _ = larder_record_detach(record, nil, 0, &needed, &handle, nil)
        let words = (needed + 7) / 8
        let created = unsafeDowncast(
            RecordStorage.create(minimumCapacity: words) { _ in
                Header(handle: nil, record: record)
            }, to: RecordStorage.self)
        let status = created.withUnsafeMutablePointers { header, elements in
            let status = larder_record_detach(record, elements, needed, &needed, &handle, nil)
            if let handle, let record = larder_detached_record(handle) {
                header.initialize(to: Header(handle: handle, record: record))
            }
            return status
        }
        guard status == .ok else { throw LarderError(status: status) }
        return created
    }

    /// Copies plain bytes that this library has encoded or validated.
    static func copying(trusted plain: larder_bytes) throws(LarderError) -> RecordStorage {
        var record = larder_record()
        let status = larder_record_open_trusted(plain, &record, nil)
        guard status == .ok else { throw LarderError(status: status) }
        return try copying(&record)
    }

    static func copying(validating plain: larder_bytes, maxDepth: UInt32, maxBytes: Int64)
        throws(LarderError) -> RecordStorage
    {
        var record = larder_record()
        var failure = larder_error()
        try throwIfFailed(larder_record_open(plain, maxDepth, maxBytes, &record, &failure), failure)
        return try copying(&record)
    }

    deinit {
        larder_detached_end(header.handle)
    }

    /// Calls a closure with the stored record, whose look-ups may return `cold`, and the handle for
    /// loading it.
    func withRecord<R, Failure: Error>(
        _ body: (UnsafePointer<larder_record>, OpaquePointer?) throws(Failure) -> R
    ) throws(Failure) -> R {
        try withExtendedLifetime(self) { () throws(Failure) in
            try body(header.record, header.handle)
        }
    }

    /// Calls a closure with the decompressed record.
    ///
    /// - Throws: as ``Record/load()``.
    func withLoadedRecord<R>(_ body: (UnsafePointer<larder_record>) -> R)
        throws(LarderError) -> R
    {
        try withExtendedLifetime(self) { () throws(LarderError) in
            body(try Self.load(header.handle))
        }
    }

    /// Calls a closure with the plain form.
    ///
    /// - Throws: as ``Record/load()``.
    func withPlainBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(LarderError) -> Result<R, Failure> {
        try withExtendedLifetime(self) { () throws(LarderError) in
            var plain = larder_bytes()
            let status = larder_detached_plain(header.handle, &plain, nil)
            guard status == .ok else { throw LarderError(status: status) }
            return Result { () throws(Failure) in try body(plain.buffer) }
        }
    }

    /// The decompressed record of a handle, valid as long as the handle is.
    static func load(_ handle: OpaquePointer?) throws(LarderError) -> UnsafePointer<larder_record> {
        var loaded: UnsafePointer<larder_record>?
        let status = larder_detached_load(handle, &loaded, nil)
        guard status == .ok, let loaded else { throw LarderError(status: status) }
        return loaded
    }
}

/// Memory for the decompressed part of one record at a time, reused during a scan.
///
/// A scan owns it and passes its address to the views of its records.
package struct RecordScratch: ~Copyable {
    private var loaded = larder_record()
    private var isLoaded = false
    private var buffer: UnsafeMutableRawBufferPointer?

    package init() {}

    deinit {
        buffer?.deallocate()
    }

    /// Discards the current record, because the next look-up may be in another one.
    package mutating func reset() {
        isLoaded = false
    }

    /// The record with its compressed part, which is decompressed on first use.
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
