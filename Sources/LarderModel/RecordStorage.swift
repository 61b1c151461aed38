import CLarder

/// The bytes of a plain record at a fixed address, opened once.
final class RecordStorage: @unchecked Sendable {
    // Neither the bytes nor the record that looks at them change after initialisation.

    private let bytes: UnsafeMutableRawBufferPointer
    private let record: UnsafeMutablePointer<larder_record>

    /// Copies bytes and checks them in full.
    init(copying plain: larder_bytes, maxDepth: UInt32 = .max, maxBytes: Int64 = .max)
        throws(LarderError)
    {
        bytes = .allocate(byteCount: max(1, plain.size_bytes), alignment: 1)
        record = .allocate(capacity: 1)
        record.initialize(to: larder_record())
        bytes.copyMemory(from: plain.buffer)
        var failure = larder_error()
        let copied = larder_bytes(data: bytes.baseAddress, size_bytes: plain.size_bytes)
        byteCount = plain.size_bytes
        try throwIfFailed(
            larder_record_open(copied, maxDepth, maxBytes, record, &failure), failure)
    }

    /// Lets a record be copied into a buffer of the needed size, and checks it.
    init(
        filling fill: (UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>) -> Int32
    ) throws(LarderError) {
        var needed = 0
        var status = fill(nil, 0, &needed)
        bytes = .allocate(byteCount: max(1, needed), alignment: 1)
        record = .allocate(capacity: 1)
        record.initialize(to: larder_record())
        byteCount = needed
        if status == Int32(LARDER_E_BUFFER_TOO_SMALL) {
            status = fill(bytes.baseAddress, needed, &needed)
        }
        guard status == .ok else { throw LarderError(status: status) }
        var failure = larder_error()
        let copied = larder_bytes(data: bytes.baseAddress, size_bytes: byteCount)
        try throwIfFailed(larder_record_open(copied, .max, .max, record, &failure), failure)
    }

    deinit {
        record.deallocate()
        bytes.deallocate()
    }

    /// The record's size.
    let byteCount: Int

    func withRecord<R, Failure: Error>(
        _ body: (UnsafePointer<larder_record>) throws(Failure) -> R
    ) throws(Failure) -> R {
        try withExtendedLifetime(self) { () throws(Failure) in try body(record) }
    }

    func withBytes<R, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> R
    ) throws(Failure) -> R {
        try withExtendedLifetime(self) { () throws(Failure) in
            try body(UnsafeRawBufferPointer(start: bytes.baseAddress, count: byteCount))
        }
    }
}
