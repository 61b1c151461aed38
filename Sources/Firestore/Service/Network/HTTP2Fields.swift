import CNGHTTP2
import LarderModel
import NIOHPACK

/// Headers as nghttp2 takes them: those that were asked for last, as the next are mostly the same.
final class HTTP2Fields {
    private var headers = HPACKHeaders()
    private var bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: 0)
    private var fields = UnsafeMutableBufferPointer<nghttp2_nv>.allocate(capacity: 0)

    deinit {
        bytes.deallocate()
        fields.deallocate()
    }

    /// The fields of headers, in their order; they are there until others are asked for.
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

    /// Writes a text where there is room for more.
    ///
    /// - Returns: where it begins.
    private static func write(
        _ text: String, to rest: inout Slice<UnsafeMutableBufferPointer<UInt8>>
    ) -> UnsafeMutablePointer<UInt8>? {
        let room = UnsafeMutableBufferPointer(rebasing: rest)
        _ = room.initialize(from: text.utf8)
        rest = rest.dropFirst(text.utf8.count)
        return room.baseAddress
    }
}
