/// Percent-encoded text (RFC 3986, 2.1), decoded without loss.
///
/// Foundation's `removingPercentEncoding` drops a leading U+FEFF.
package enum PercentText {
    /// The decoded text; nil if its bytes are not UTF-8, or if an escape is malformed.
    ///
    /// - Parameters:
    ///   - isForm: true if a plus sign stands for a space.
    ///   - keepsMalformedEscapes: true to leave malformed escapes as they are.
    package static func decoded(
        _ text: some StringProtocol, isForm: Bool = false, keepsMalformedEscapes: Bool = false
    ) -> String? {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") {
                if index + 2 < bytes.count, let high = digit(bytes[index + 1]),
                    let low = digit(bytes[index + 2])
                {
                    result.append(high << 4 | low)
                    index += 3
                    continue
                }
                guard keepsMalformedEscapes else { return nil }
            }
            result.append(isForm && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            index += 1
        }
        return String(validating: result, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
