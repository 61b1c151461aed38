import CNGHTTP2

/// A violation of HTTP/2 by a client, or a failure to serve it.
package struct HTTP2Fault: Equatable, Sendable {
    /// Called with each fault of a connection, on its event loop.
    package typealias Report = @Sendable (HTTP2Fault) -> Void

    /// The cause; one of few.
    package let reason: String
    /// Details for a log.
    package let detail: String
    /// True if the client has caused it.
    package let isOfClient: Bool

    private init(_ reason: String, _ detail: String = "", isOfClient: Bool) {
        self.reason = reason
        self.detail = detail
        self.isOfClient = isOfClient
    }

    /// Bytes that arrived within a callback, which would be read out of order.
    static let reentered = HTTP2Fault("bytes out of order", isOfClient: false)

    /// A frame that was incomplete for too long.
    static let slowFrame = HTTP2Fault("incomplete frame", isOfClient: true)

    /// An error code of nghttp2.
    static func failure(_ code: Int32) -> HTTP2Fault {
        HTTP2Fault(text(of: code), isOfClient: !isInternal(code))
    }

    /// A frame that nghttp2 has refused with an error code.
    static func invalidFrame(_ code: Int32) -> HTTP2Fault {
        HTTP2Fault(text(of: code), "a frame was refused", isOfClient: true)
    }

    /// The end of a connection by a frame that is being sent; nil for other frames.
    init?(ending frame: nghttp2_frame) {
        guard frame.hd.type == UInt8(NGHTTP2_GOAWAY.rawValue), frame.goaway.error_code != 0 else {
            return nil
        }
        let text = UnsafeBufferPointer(
            start: frame.goaway.opaque_data, count: frame.goaway.opaque_data_len)
        self.init(
            "connection ended: "
                + String(cString: nghttp2_http2_strerror(frame.goaway.error_code)),
            String(decoding: text, as: UTF8.self), isOfClient: true)
    }

    private static func text(of code: Int32) -> String { String(cString: nghttp2_strerror(code)) }

    private static func isInternal(_ code: Int32) -> Bool {
        code == NGHTTP2_ERR_NOMEM.rawValue || code == NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
            || code == NGHTTP2_ERR_INVALID_STATE.rawValue
            || code == NGHTTP2_ERR_INVALID_ARGUMENT.rawValue
    }
}
