import CNGHTTP2
import LarderCore
import NIOHPACK

/// The callbacks of nghttp2, each of which calls the ``HTTP2Handler`` of its session.
enum HTTP2Callbacks {
    /// Reads the data of a response.
    static var data: nghttp2_data_provider {
        var provider = nghttp2_data_provider()
        provider.read_callback = { _, id, room, size, flags, _, user in
            guard let flags, let handler = handler(user) else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            return handler.read(
                id, into: UnsafeMutableRawBufferPointer(start: room, count: size), &flags.pointee)
        }
        return provider
    }

    /// A server's session with its settings submitted; nil if out of memory.
    static func makeSession(_ limits: HTTP2Handler.Limits) -> OpaquePointer? {
        var options: OpaquePointer?
        var session: OpaquePointer?
        guard let callbacks = make(), nghttp2_option_new(&options) == 0 else { return nil }
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        nghttp2_option_set_no_auto_window_update(options, 1)
        // Closed streams serve priorities only, which RFC 9113 has deprecated.
        nghttp2_option_set_no_closed_streams(options, 1)
        nghttp2_option_set_stream_reset_rate_limit(
            options, UInt64(limits.resets),
            UInt64(max(limits.resets / HTTP2Handler.resetPeriod, 1)))
        guard nghttp2_session_server_new2(&session, callbacks, nil, options) == 0 else {
            return nil
        }
        let settings = [
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.windowBytes),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.headerBytes),
        ].map { id, value in
            nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: UInt32(clamping: value))
        }
        nghttp2_submit_settings(session, 0, settings, settings.count)
        return session
    }

    private static func make() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, head, user in
            if let head, head.pointee.type == UInt8(NGHTTP2_HEADERS.rawValue) {
                handler(user)?.check(head.pointee.stream_id, isHeaders: true)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, _, user in
            handler(user)?.beginHeaders()
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, _, name, nameSize, value, valueSize, _, user in
            let isAccepted = handler(user)?.add(
                UnsafeBufferPointer(start: name, count: nameSize),
                UnsafeBufferPointer(start: value, count: valueSize))
            return isAccepted == true ? 0 : Int32(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, id, bytes, size, user in
            handler(user)?.add(UnsafeBufferPointer(start: bytes, count: size), to: id)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, user in
            if let frame { handler(user)?.receive(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
            _, frame, code, user in
            handler(user)?.note(.invalidFrame(code))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, user in
            if let frame { handler(user)?.sent(frame.pointee) }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, user in
            handler(user)?.close(id, code)
            return 0
        }
        return callbacks
    }
}

/// The handler that is the user data of a session.
private func handler(_ user: UnsafeMutableRawPointer?) -> HTTP2Handler? {
    user.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
}

// MARK: - Headers

/// Headers in nghttp2's form.
///
/// The last ones are kept, since most responses have the same.
final class HTTP2Fields {
    private var headers = HPACKHeaders()
    private var bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 0)
    private var fields = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: 0)

    deinit {
        bytes.deallocate()
        fields.deallocate()
    }

    /// The fields of headers, in their order; valid until the next call.
    func fields(of headers: HPACKHeaders) -> UnsafeMutableBufferPointer<nghttp2_nv> {
        let isKnown = headers.elementsEqual(self.headers) { new, known in
            new.name.hasSameUTF8(as: known.name) && new.value.hasSameUTF8(as: known.value)
        }
        if !isKnown { write(headers) }
        return fields
    }

    private func write(_ headers: HPACKHeaders) {
        bytes.deallocate()
        fields.deallocate()
        self.headers = headers
        let size = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        bytes = .allocate(capacity: size)
        fields = .allocate(capacity: headers.count)
        var rest = bytes[...]
        for (index, (name, value, _)) in headers.enumerated() {
            fields.initializeElement(
                at: index,
                to: nghttp2_nv(
                    name: Self.write(name, to: &rest), value: Self.write(value, to: &rest),
                    namelen: name.utf8.count, valuelen: value.utf8.count,
                    flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
        }
    }

    /// Writes a text to the beginning of the free space.
    ///
    /// - Returns: its address.
    private static func write(
        _ text: String, to rest: inout Slice<UnsafeMutableBufferPointer<UInt8>>
    ) -> UnsafeMutablePointer<UInt8>? {
        let room = UnsafeMutableBufferPointer(rebasing: rest)
        _ = room.initialize(from: text.utf8)
        rest = rest.dropFirst(text.utf8.count)
        return room.baseAddress
    }
}
