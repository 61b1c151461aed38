import CLarder

extension FieldPath {
    /// A path as applications write it: names between dots, without any quoting.
    ///
    /// - Throws: `invalidArgument` for text that is empty, holds one of `~*/[]`, begins or ends
    ///   with a dot or has two in a row. ``init(_:)-([String])`` takes such names.
    public init(dotted text: String) throws(LarderError) {
        var hasDot = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "."):
                hasDot = true
            case UInt8(ascii: "~"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "["),
                UInt8(ascii: "]"):
                throw .invalidName(
                    "the field path '\(text)' contains '\(Character(Unicode.Scalar(byte)))'")
            default:
                break
            }
        }
        guard hasDot || text.utf8.isEmpty else {
            try self.init([text])
            return
        }
        let parts = text.utf8.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard !parts.contains(where: \.isEmpty) else {
            throw .invalidName(
                "the field path '\(text)' is empty, begins or ends with '.', or contains '..'")
        }
        try self.init(parts.map { String(Substring($0)) })
    }

    /// A path in Firestore's canonical text: names with dots between them, odd ones between
    /// backticks, in which `\` takes the next character as it is.
    ///
    /// - Throws: `invalidArgument` for an empty name, a backtick without its partner or a `\`
    ///   at the end.
    public init(canonical text: String) throws(LarderError) {
        var segments: [String] = []
        var segment: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        func finish() throws(LarderError) {
            guard !segment.isEmpty else {
                throw .invalidName("the field path '\(text)' has an empty name")
            }
            segments.append(String(decoding: segment, as: UTF8.self))
            segment.removeAll()
        }
        for byte in text.utf8 {
            if isEscaped {
                segment.append(byte)
                isEscaped = false
                continue
            }
            switch byte {
            case UInt8(ascii: "\\"): isEscaped = true
            case UInt8(ascii: "`"): isQuoted.toggle()
            case UInt8(ascii: ".") where !isQuoted: try finish()
            default: segment.append(byte)
            }
        }
        guard !isEscaped else { throw .invalidName("the field path '\(text)' ends with '\\'") }
        guard !isQuoted else {
            throw .invalidName("the field path '\(text)' has a backtick without its partner")
        }
        try finish()
        try self.init(segments)
    }

    /// The path in Firestore's canonical text, which ``init(canonical:)`` takes back.
    public var canonicalString: String {
        segments.map(Self.quoted).joined(separator: ".")
    }

    private static func quoted(_ segment: String) -> String {
        var isBare = true
        var escaped: [UInt8] = []
        for byte in segment.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "_"):
                break
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                if escaped.isEmpty { isBare = false }
            default:
                isBare = false
            }
            if byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "`") {
                escaped.append(UInt8(ascii: "\\"))
            }
            escaped.append(byte)
        }
        return isBare ? segment : "`" + String(decoding: escaped, as: UTF8.self) + "`"
    }
}

extension FieldPath: CustomStringConvertible {
    /// The canonical text.
    public var description: String { canonicalString }
}

extension FieldPath {
    /// The storage core's form: each name behind its length.
    package var encoded: [UInt8] {
        withEncodedBytes { $0.array }
    }

    /// Lends the storage core's form to a closure, from memory on the stack where it is small.
    func withEncodedBytes<R>(_ body: (larder_bytes) -> R) -> R {
        let capacity = segments.reduce(0) { $0 + $1.utf8.count + 10 }
        return withUnsafeTemporaryAllocation(byteCount: max(1, capacity), alignment: 1) { bytes in
            var count = 0
            for segment in segments { Self.encode(segment, into: bytes, &count) }
            return body(larder_bytes(data: bytes.baseAddress, size_bytes: count))
        }
    }

    /// Appends a name behind its length.
    private static func encode(
        _ segment: String, into bytes: UnsafeMutableRawBufferPointer, _ count: inout Int
    ) {
        var segment = segment
        segment.withUTF8 { name in
            var size = name.count
            while size >= 0x80 {
                bytes[count] = UInt8(size & 0x7f) | 0x80
                count += 1
                size >>= 7
            }
            bytes[count] = UInt8(size)
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[(count + 1)...])
            rest.copyMemory(from: UnsafeRawBufferPointer(name))
            count += 1 + name.count
        }
    }

    /// A path in the storage core's form; nil when it is malformed.
    package init?(encoded bytes: some Sequence<UInt8>) {
        var segments: [String] = []
        var rest = bytes.makeIterator()
        while let first = rest.next() {
            var (size, shift) = (Int(first & 0x7f), 7)
            var last = first
            while last >= 0x80 {
                guard let next = rest.next(), shift < 28 else { return nil }
                size |= Int(next & 0x7f) << shift
                shift += 7
                last = next
            }
            var name: [UInt8] = []
            for _ in 0..<size {
                guard let byte = rest.next() else { return nil }
                name.append(byte)
            }
            guard !name.isEmpty else { return nil }
            segments.append(String(decoding: name, as: UTF8.self))
        }
        guard !segments.isEmpty else { return nil }
        self.init(unchecked: segments)
    }
}
