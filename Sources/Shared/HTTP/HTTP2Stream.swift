import DequeModule
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The inbound frame and the outbound data of a stream.
final class HTTP2Stream {
    /// The received part of a data frame; passed on when the frame is complete.
    ///
    /// A frame whose stream ends or violates the protocol before its end is discarded with the
    /// stream: no other stream can see its bytes.
    var received = ByteBuffer()
    private var data: Deque<(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)> = []
    /// The size of the data.
    private(set) var unsentBytes = 0
    var trailers: HPACKHeaders?
    /// True if the response ends after the data, without trailers.
    var isWhole = false
    var hasBegun = false
    /// True if nghttp2 has deferred the stream until there is more data.
    var isDeferred = false
    /// When data was last taken while some was left, or became available while there was none.
    private var waitingSince = NIODeadline.uptimeNanoseconds(0)

    /// - Parameter now: the current time, which is needed if no other data is unsent.
    func append(
        _ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?,
        at now: @autoclosure () -> NIODeadline
    ) {
        if unsentBytes == 0 { waitingSince = now() }
        data.append((bytes, promise))
        unsentBytes += bytes.readableBytes
    }

    /// Moves data to a buffer.
    ///
    /// - Parameter promises: receives the promises of data that is taken completely.
    /// - Returns: the number of bytes.
    func take(
        into room: UnsafeMutableRawBufferPointer, _ promises: inout [EventLoopPromise<Void>]
    ) -> Int {
        var count = 0
        while count < room.count, let (bytes, promise) = data.first {
            let size = min(bytes.readableBytes, room.count - count)
            bytes.withUnsafeReadableBytes {
                UnsafeMutableRawBufferPointer(rebasing: room[count...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(size)))
            }
            count += size
            if size < bytes.readableBytes {
                data[0].bytes.moveReaderIndex(forwardBy: size)
            } else {
                data.removeFirst()
                if let promise { promises.append(promise) }
            }
        }
        unsentBytes -= count
        return count
    }

    /// True if all data is taken.
    var isSent: Bool { data.isEmpty }

    /// Discards the data that is not sent.
    func fail() {
        let gone = data
        (data, unsentBytes) = ([], 0)
        for (_, promise) in gone { promise?.fail(ChannelError.ioOnClosedChannel) }
    }

    /// Notes that data was taken.
    func noteTaken(at now: NIODeadline) {
        waitingSince = now
    }

    /// The time until no data has been taken for a while; not positive if that is so.
    ///
    /// - Parameter turn: the last time at which the stream was waiting for others, if any.
    func remainingPatience(
        _ patience: TimeAmount, at now: NIODeadline, lastTurn turn: NIODeadline?
    ) -> TimeAmount {
        max(waitingSince, turn ?? waitingSince) + patience - now
    }
}

/// Fired for a stream whose client has not taken its data for a while.
struct StalledStream {
    let id: HTTP2StreamID
}
