import CZstd
import Synchronization

/// Frames of zstd in memory, with contexts that are allocated once.
final class ZstdFrames: Sendable {
    /// The frames of this process; nil if there was no memory for the contexts.
    static let shared = ZstdFrames()

    /// Small frames gain little from higher levels, which take several times as long.
    private static let level: CInt = 1

    /// A context, which is used under its lock only.
    private struct Context: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let encoder: Mutex<Context>
    private let decoder: Mutex<Context>

    private init?() {
        guard let encoder = ZSTD_createCCtx() else { return nil }
        guard let decoder = ZSTD_createDCtx() else {
            ZSTD_freeCCtx(encoder)
            return nil
        }
        self.encoder = Mutex(Context(pointer: encoder))
        self.decoder = Mutex(Context(pointer: decoder))
    }

    deinit {
        encoder.withLock { _ = ZSTD_freeCCtx($0.pointer) }
        decoder.withLock { _ = ZSTD_freeDCtx($0.pointer) }
    }

    /// The frame of bytes; nil if it would be larger than a limit, or there is no memory.
    func compress(_ bytes: UnsafeRawBufferPointer, atMost limit: Int) -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            let size = encoder.withLock {
                ZSTD_compressCCtx(
                    $0.pointer, buffer.baseAddress, buffer.count, bytes.baseAddress, bytes.count,
                    Self.level)
            }
            return ZSTD_isError(size) == 0 ? Array(buffer[..<size]) : nil
        }
    }

    /// Calls a closure with the bytes of a frame that ``compress(_:atMost:)`` has returned.
    ///
    /// - Parameter count: how many bytes these are.
    func decompress<R>(
        _ frame: [UInt8], count: Int, _ body: (UnsafeRawBufferPointer) -> R
    ) -> R {
        withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer in
            let size = frame.withUnsafeBytes { frame in
                decoder.withLock {
                    ZSTD_decompressDCtx(
                        $0.pointer, buffer.baseAddress, buffer.count, frame.baseAddress, frame.count
                    )
                }
            }
            precondition(size == count, "memory with a frame of zstd was overwritten")
            return body(UnsafeRawBufferPointer(buffer))
        }
    }
}
