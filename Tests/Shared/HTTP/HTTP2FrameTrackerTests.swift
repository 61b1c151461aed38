import NIOCore
import NIOHPACK
import Testing

@testable import LarderHTTP

@Suite("HTTP/2 frame boundaries")
struct HTTP2FrameTrackerTests {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private func frame(_ type: HTTP2Peer.Kind, _ size: Int, _ flags: UInt8 = 0) -> [UInt8] {
        HTTP2Peer.Frame(
            type: type, flags: flags, stream: 1, payload: [UInt8](repeating: 1, count: size)
        ).bytes
    }

    /// True if more must follow soon after each byte.
    private func states(_ bytes: [UInt8], _ tracker: inout HTTP2FrameTracker) -> [Bool] {
        bytes.map { byte in
            withUnsafeBytes(of: byte) { tracker.receive($0) }
            return tracker.isIncomplete
        }
    }

    @Test("A connection has begun with its settings")
    func beginning() {
        var tracker = HTTP2FrameTracker()
        #expect(tracker.isIncomplete)
        let bytes = Self.preface + frame(.settings, 12)
        #expect(
            states(bytes, &tracker)
                == Array(repeating: true, count: bytes.count - 1) + [false])
    }

    @Test("Every frame is incomplete until its last byte; the payload of data has its own time")
    func frames() {
        var tracker = HTTP2FrameTracker()
        _ = states(Self.preface + frame(.settings, 0), &tracker)
        let incomplete = { (count: Int) in Array(repeating: true, count: count) }
        #expect(states(frame(.ping, 8), &tracker) == incomplete(16) + [false])
        #expect(states(frame(.settings, 0, 1), &tracker) == incomplete(8) + [false])
        #expect(
            states(frame(.data, 5), &tracker)
                == incomplete(8) + Array(repeating: false, count: 6))
        #expect(
            states(frame(.headers, 4, HTTP2Peer.endsHeaders), &tracker)
                == incomplete(12) + [false])
    }

    @Test("Headers are incomplete until the frame that ends them")
    func headers() {
        var tracker = HTTP2FrameTracker()
        _ = states(Self.preface + frame(.settings, 0), &tracker)
        let bytes = frame(.headers, 3) + frame(.continuation, 0) + frame(.continuation, 2)
        #expect(!states(bytes, &tracker).contains(false))
        #expect(states(frame(.continuation, 1, HTTP2Peer.endsHeaders), &tracker).last == false)
    }

    @Test("The pieces in which bytes come make no difference")
    func pieces() {
        let bytes =
            Self.preface + frame(.settings, 6) + frame(.headers, 300) + frame(.data, 70)
        for size in [1, 2, 7, 23, 64, bytes.count] {
            var tracker = HTTP2FrameTracker()
            var rest = bytes[...]
            while !rest.isEmpty {
                Array(rest.prefix(size)).withUnsafeBytes { tracker.receive($0) }
                rest = rest.dropFirst(size)
            }
            #expect(tracker.isIncomplete, "\(size)")
            frame(.continuation, 0, HTTP2Peer.endsHeaders).withUnsafeBytes { tracker.receive($0) }
            #expect(!tracker.isIncomplete, "\(size)")
        }
    }
}
