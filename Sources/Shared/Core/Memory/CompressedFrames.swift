import CLarder
import Synchronization

/// Compressed bytes in memory, by a compressor of the storage core (`larder.h`).
package final class CompressedFrames: Sendable {
    /// Those of this process; nil if there was no memory for the compressor.
    package static let shared = CompressedFrames()

    /// The compressor, which is used under its lock only.
    private struct Compressor: @unchecked Sendable {
        let handle: OpaquePointer
    }

    private let compressor: Mutex<Compressor>

    private init?() {
        var created: OpaquePointer?
        guard larder_compressor_create(&created, nil) == LARDER_OK, let created else { return nil }
        compressor = Mutex(Compressor(handle: created))
    }

    deinit {
        compressor.withLock { larder_compressor_close($0.handle) }
    }

    /// The frame of bytes; nil if it would be larger than a limit, or there is no memory.
    package func compress(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            var size = 0
            let status = compressor.withLock {
                larder_compressor_compress(
                    $0.handle, Self.borrowed(bytes), buffer.baseAddress, buffer.count, &size, nil)
            }
            return status == LARDER_OK ? Array(buffer[..<size]) : nil
        }
    }

    /// Calls a closure with the bytes of a frame that ``compress(_:atMost:)`` has returned.
    ///
    /// - Parameter count: how many bytes these are.
    package func decompress<R>(
        _ frame: [UInt8], count: Int, _ body: (UnsafeRawBufferPointer) -> R
    ) -> R {
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
            var size = 0
            let status = frame.withUnsafeBytes { frame in
                compressor.withLock {
                    larder_compressor_decompress(
                        $0.handle, Self.borrowed(frame), buffer.baseAddress, buffer.count, &size,
                        nil)
                }
            }
            precondition(
                status == LARDER_OK && size == count, "memory with a frame was overwritten")
            return body(UnsafeRawBufferPointer(buffer))
        }
    }

    private static func borrowed(_ bytes: UnsafeRawBufferPointer) -> larder_bytes {
        larder_bytes(data: bytes.baseAddress, size_bytes: bytes.count)
    }
}
