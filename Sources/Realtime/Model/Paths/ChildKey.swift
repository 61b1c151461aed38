/// The name of a child, ordered as the Realtime Database orders keys: 32-bit integers by number,
/// then all other text by UTF-16 code units.
///
/// The order's first eight bytes are computed once, in the initialiser, so most comparisons are
/// those of two integers. ``min`` and ``max`` lie below and above every other key and equal no
/// key made from text.
@usableFromInline package struct ChildKey: Sendable {
    /// The key's text; for ``min`` and ``max`` the text that stands for them on the wire.
    package let text: String

    /// The beginning of the key's place in the order: a kind in the highest byte, below it the
    /// number and the length of an integer, or the first seven bytes of other text.
    private let prefix: UInt64

    private enum Kind: UInt64 {
        case min, integer, text, max
    }

    /// A key of some text, which is not validated: that of a server or a store.
    package init(_ text: String) {
        self.text = text
        prefix = text.withUTF8Buffer { Self.prefix(of: $0) }
    }

    private init(sentinel kind: Kind, text: String) {
        self.text = text
        prefix = kind.rawValue << 56
    }

    /// A key of a message, in which reserved text stands for ``min`` and ``max``.
    package init(wire text: String) {
        self = [.min, .max].first { $0.text == text } ?? ChildKey(text)
    }

    /// Below every other key.
    package static let min = ChildKey(sentinel: .min, text: "[MIN_NAME]")

    /// Above every other key.
    package static let max = ChildKey(sentinel: .max, text: "[MAX_NAME]")

    /// The name under which paths address a node's priority.
    package static let priority = ChildKey(".priority")

    /// True if bytes are those of the key's text.
    package func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        text.withUTF8Buffer { own in
            guard own.count == bytes.count else { return false }
            var offset = 0
            while offset < own.count, own[offset] == bytes[offset] { offset &+= 1 }
            return offset == own.count
        }
    }

    /// True for ``min`` and ``max``.
    package var isSentinel: Bool { isMin || isMax }

    var isMin: Bool { prefix == 0 }
    var isMax: Bool { prefix == Kind.max.rawValue << 56 }

    /// The key's number, if it is ordered as one.
    package var integer: Int32? {
        guard prefix >> 56 == Kind.integer.rawValue else { return nil }
        return Int32(truncatingIfNeeded: Int64(prefix >> 24 & 0xffff_ffff) + Int64(Int32.min))
    }
}

// MARK: - Order

extension ChildKey: Comparable {
    @usableFromInline package static func == (left: ChildKey, right: ChildKey) -> Bool {
        left.prefix == right.prefix && left.text.isSameText(as: right.text)
    }

    @usableFromInline package static func < (left: ChildKey, right: ChildKey) -> Bool {
        left.order(to: right) < 0
    }

    /// The order of both keys: below, equal to or above 0.
    package func order(to other: ChildKey) -> Int {
        if prefix != other.prefix { return prefix < other.prefix ? -1 : 1 }
        // Integers of one number and length may differ in a sign: -0 and 00.
        return text.utf16Order(to: other.text)
    }

    /// The order of the key of some text to this key: below, equal to or above 0.
    func orderOfKey(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let other = Self.prefix(of: bytes)
        if other != prefix { return other < prefix ? -1 : 1 }
        return text.withUTF8Buffer { bytes.utf16Order(to: $0) }
    }

    private static func prefix(of bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        if let number = integer(in: bytes) {
            let biased = UInt64(Int64(number) - Int64(Int32.min))
            return Kind.integer.rawValue << 56 | biased << 24 | UInt64(bytes.count)
        }
        var prefix = Kind.text.rawValue
        for position in 0..<7 {
            let byte = position < bytes.count ? bytes[position].utf16Rank : 0
            prefix = prefix << 8 | UInt64(byte)
        }
        return prefix
    }

    /// The number of a key of at most 11 characters, with an optional sign and digits only.
    private static func integer(in bytes: UnsafeBufferPointer<UInt8>) -> Int32? {
        guard let first = bytes.first, bytes.count <= 11 else { return nil }
        let isNegative = first == UInt8(ascii: "-")
        let digits = bytes[(isNegative ? 1 : 0)...]
        guard !digits.isEmpty else { return nil }
        var magnitude: Int64 = 0
        for byte in digits {
            let digit = byte &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            magnitude = magnitude * 10 + Int64(digit)
        }
        return Int32(exactly: isNegative ? -magnitude : magnitude)
    }
}

extension ChildKey: Hashable {
    @usableFromInline package func hash(into hasher: inout Hasher) {
        hasher.combine(prefix)
        text.hashUTF8(into: &hasher)
    }
}

extension ChildKey: CustomStringConvertible {
    @usableFromInline package var description: String { text }
}

// MARK: - Validation

extension ChildKey {
    /// The longest key, in bytes of UTF-8.
    package static let maximumBytes = 768

    /// A key of text that a user gives.
    ///
    /// - Throws: `invalidArgument` if the text is empty, too long, or contains a character that
    ///   keys must not have.
    package init(validating text: String) throws(LarderError) {
        if let problem = Self.problem(in: text) {
            throw .invalidPath("the key '\(text)' \(problem)")
        }
        self.init(text)
    }

    /// The problem of text that is no valid key, in words; nil for a valid key.
    static func problem(in text: String) -> String? {
        let size = text.utf8.count
        guard size > 0 else { return "is empty" }
        guard size <= maximumBytes else {
            return "has \(size) bytes; \(maximumBytes) are allowed"
        }
        guard let byte = text.utf8.first(where: { isForbidden($0) }) else { return nil }
        return byte < 0x20 || byte == 0x7f
            ? "contains a control character"
            : "contains '\(Unicode.Scalar(byte))'; keys must not contain . # $ [ ] /"
    }

    /// True for characters that no key may contain.
    static func isForbidden(_ byte: UInt8) -> Bool {
        switch byte {
        case 0..<0x20, 0x7f: true
        case UInt8(ascii: "."), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "/"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }
}
