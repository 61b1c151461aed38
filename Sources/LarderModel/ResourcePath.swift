/// The text of a document or collection path, checked once: segments between single slashes.
struct ResourcePath: Sendable {
    static let maxBytes = 6144
    static let maxSegments = 200

    /// UTF-8, contiguous, without a slash at either end.
    let string: String

    /// Takes text that is known to be a path.
    init(unchecked string: String) {
        self.string = string
    }

    /// Checks text: slashes at its ends are ignored, two in a row are an error.
    init(parsing text: String, kind: String) throws(LarderError) {
        var text = text
        text.makeContiguousUTF8()
        guard !text.utf8.isEmpty else { throw .invalidName("a \(kind) is empty") }
        guard !text.hasDoubleSlash else {
            throw .invalidName("the \(kind) '\(text)' contains '//'")
        }
        text = text.withoutOuterSlashes
        guard !text.utf8.isEmpty else { throw .invalidName("a \(kind) is empty") }
        guard text.utf8.count <= Self.maxBytes else {
            throw .invalidName(
                "a \(kind) has \(text.utf8.count) bytes; \(Self.maxBytes) are allowed")
        }
        string = text
        for segment in utf8Segments { try PathSegment.check(segment, of: text) }
        guard segmentCount <= Self.maxSegments else {
            throw .invalidName(
                "a \(kind) has \(segmentCount) segments; \(Self.maxSegments) are allowed")
        }
    }

    /// This path with another segment behind it.
    func appending(_ id: String, kind: String) throws(LarderError) -> ResourcePath {
        guard !id.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidName("the id '\(id)' contains a slash")
        }
        guard !id.utf8.isEmpty else { throw .invalidName("an id is empty") }
        return try ResourcePath(parsing: string + "/" + id, kind: kind)
    }

    var utf8Segments: [Substring.UTF8View] {
        string.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    var segments: [String] { utf8Segments.map { String(Substring($0)) } }

    var segmentCount: Int {
        string.utf8.reduce(1) { $1 == UInt8(ascii: "/") ? $0 + 1 : $0 }
    }

    /// The last segment.
    var id: String {
        guard let slash = string.utf8.lastIndex(of: UInt8(ascii: "/")) else { return string }
        return String(string[string.utf8.index(after: slash)...])
    }

    /// All but the last segment; nil when there is one only.
    var parent: ResourcePath? {
        guard let slash = string.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return ResourcePath(unchecked: String(string[..<slash]))
    }

    /// Whether the other path begins with all segments of this one.
    func isPrefix(of other: ResourcePath) -> Bool {
        guard other.string.utf8.starts(with: string.utf8) else { return false }
        let rest = other.string.utf8.dropFirst(string.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    /// Segment by segment, then by their number.
    func order(to other: ResourcePath) -> Int {
        if string.hasSameUTF8(as: other.string) { return 0 }
        let (left, right) = (utf8Segments, other.utf8Segments)
        for (l, r) in zip(left, right) {
            let order = PathSegment.order(l, r)
            if order != 0 { return order }
        }
        return left.count - right.count
    }
}

extension String {
    fileprivate var hasDoubleSlash: Bool {
        var last: UInt8 = 0
        for byte in utf8 {
            if byte == UInt8(ascii: "/"), last == byte { return true }
            last = byte
        }
        return false
    }

    fileprivate var withoutOuterSlashes: String {
        var part = utf8[...]
        if part.first == UInt8(ascii: "/") { part.removeFirst() }
        if part.last == UInt8(ascii: "/") { part.removeLast() }
        return String(Substring(part))
    }
}
