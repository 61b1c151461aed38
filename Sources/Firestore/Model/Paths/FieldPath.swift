import CLarder

/// The path of a field in a document: the names of the enclosing maps, and the field's own.
///
/// Equality compares the bytes of the names.
public struct FieldPath: Sendable {
    /// The names in order; at least one, none empty.
    public let segments: [String]

    /// Firestore's limit for a field name and for a whole path, in bytes.
    public static let maxBytes = 1500

    /// The pseudo-field `__name__` for ordering and filtering by document name.
    public static let documentID = FieldPath(unchecked: ["__name__"])

    /// Creates a path from names, which may contain dots and other characters.
    ///
    /// - Throws: `invalidArgument` for no names, an empty name, or more than 1,500 bytes.
    public init(_ segments: [String]) throws(LarderError) {
        guard !segments.isEmpty else { throw .invalidName("a field path has no names") }
        guard !segments.contains(where: { $0.utf8.isEmpty }) else {
            throw .invalidName("a field path has an empty name: \(segments)")
        }
        let size = segments.reduce(segments.count - 1) { $0 + $1.utf8.count }
        guard size <= Self.maxBytes else {
            throw .invalidName("a field path of \(size) bytes; the limit is \(Self.maxBytes)")
        }
        self.segments = segments
    }

    /// Creates a path from names, which may contain dots and other characters.
    ///
    /// - Throws: `invalidArgument` for no names, an empty name, or more than 1,500 bytes.
    public init(_ segments: String...) throws(LarderError) {
        try self.init(segments)
    }

    package init(unchecked segments: [String]) {
        self.segments = segments
    }

    /// True if this is ``documentID``.
    public var isDocumentID: Bool { self == .documentID }

    /// The last name.
    public var last: String { segments[segments.count - 1] }

    /// This path without its last name; nil if that is the only one.
    public var parent: FieldPath? {
        segments.count > 1 ? FieldPath(unchecked: segments.dropLast()) : nil
    }

    /// This path with a name appended.
    ///
    /// - Throws: `invalidArgument` for an empty name or a path that becomes too long.
    public func appending(_ name: String) throws(LarderError) -> FieldPath {
        try FieldPath(segments + [name])
    }

    /// True if the other path is equal to or below this one.
    public func isPrefix(of other: FieldPath) -> Bool {
        other.segments.count >= segments.count
            && zip(segments, other.segments).allSatisfy { $0.hasSameUTF8(as: $1) }
    }
}

extension FieldPath: Hashable, Comparable {
    /// True if the names are the same bytes.
    public static func == (left: FieldPath, right: FieldPath) -> Bool {
        left.segments.count == right.segments.count && left.isPrefix(of: right)
    }

    /// Firestore's order: name by name, like the segments of document paths.
    public static func < (left: FieldPath, right: FieldPath) -> Bool {
        for (l, r) in zip(left.segments, right.segments) {
            let order = PathSegment.order(l.utf8, r.utf8)
            if order != 0 { return order < 0 }
        }
        return left.segments.count < right.segments.count
    }

    /// Hashes the names.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(segments.count)
        for segment in segments { segment.hashUTF8(into: &hasher) }
    }
}

// MARK: - Text

extension FieldPath {
    /// Parses a path in dotted form: names separated by dots, without quoting.
    ///
    /// - Throws: `invalidArgument` for empty text, one of the characters `~*/[]`, or an empty name.
    ///   ``init(_:)-([String])`` accepts such characters.
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

    /// Parses a path in Firestore's canonical form: names separated by dots, unusual ones in
    /// backticks, in which `\` escapes the next character.
    ///
    /// - Throws: `invalidArgument` for an empty name, an unclosed backtick, a `\` at the end, or
    ///   more than 1,500 bytes.
    public init(canonical text: String) throws(LarderError) {
        var path: FieldPath?
        var failure = larder_error()
        text.withUTF8Bytes { text in
            // Encoded names are at most twice as long: a separator becomes a length.
            withUnsafeTemporaryAllocation(byteCount: 2 * text.count + 1, alignment: 1) { buffer in
                var size = 0
                let status = larder_path_parse(
                    larder_bytes(text), buffer.baseAddress, buffer.count, &size, &failure)
                if status == .ok { path = FieldPath(encoded: buffer.prefix(size)) }
            }
        }
        guard let path else { throw .invalidName("\(failure.text): '\(text)'") }
        self = path
    }

    /// The path in Firestore's canonical form, which ``init(canonical:)`` parses.
    public var canonicalString: String {
        let capacity = segments.reduce(0) { $0 + 2 * $1.utf8.count + 3 }
        return withEncodedBytes { path in
            withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { buffer in
                var size = 0
                let status = larder_path_format(path, buffer.baseAddress, buffer.count, &size, nil)
                // Unchecked names may be empty.
                guard status == .ok else { return segments.joined(separator: ".") }
                return String(decoding: buffer.prefix(size), as: UTF8.self)
            }
        }
    }
}

extension FieldPath: CustomStringConvertible {
    /// The canonical form.
    public var description: String { canonicalString }
}

extension FieldPath {
    /// The storage core's form: each name preceded by its length.
    package var encoded: [UInt8] {
        withEncodedBytes { $0.array }
    }

    /// Calls a closure with the storage core's form, on the stack if it is small.
    func withEncodedBytes<R>(_ body: (larder_bytes) -> R) -> R {
        let capacity = segments.reduce(0) { $0 + $1.utf8.count + 10 }
        return withUnsafeTemporaryAllocation(byteCount: max(1, capacity), alignment: 1) { bytes in
            var count = 0
            for segment in segments { Self.encode(segment, into: bytes, &count) }
            return body(larder_bytes(data: bytes.baseAddress, size_bytes: count))
        }
    }

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

    /// Decodes the storage core's form; nil if it is malformed.
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

extension FieldPath {
    /// True for a name that begins and ends with two underscores and has characters between them,
    /// which fields of documents must not have.
    package static func isReserved(_ name: String) -> Bool {
        name.utf8.count >= 5 && name.utf8.starts(with: "__".utf8)
            && name.utf8.reversed().starts(with: "__".utf8)
    }
}
