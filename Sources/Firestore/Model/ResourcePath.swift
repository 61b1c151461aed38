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

    /// Checks text: slashes at its ends are ignored, two in a row are an error; documents have
    /// an even number of segments, collections and what is below them an odd one.
    init(parsing text: String, _ kind: Kind) throws(LarderError) {
        var text = text
        var problem: String?
        var isTrimmed = false
        text.withUTF8 { bytes in
            var path = bytes[...]
            if path.first == UInt8(ascii: "/") { path.removeFirst() }
            if path.last == UInt8(ascii: "/") { path.removeLast() }
            isTrimmed = path.count < bytes.count
            problem = Self.problem(in: UnsafeBufferPointer(rebasing: path), kind)
        }
        if let problem { throw .invalidName("the \(kind.rawValue) '\(text)' \(problem)") }
        string = isTrimmed ? text.withoutOuterSlashes : text
    }

    /// What a path is to lead to.
    enum Kind: String {
        case document = "document path"
        case collection = "collection path"
        /// A document's path below a collection: its id, or a path further down.
        case documentBelow = "relative document path"
    }

    /// What is wrong with a path, in words; nil when it is sound.
    private static func problem(in path: UnsafeBufferPointer<UInt8>, _ kind: Kind) -> String? {
        guard !path.isEmpty else { return "is empty" }
        guard path.count <= maxBytes else {
            return "has \(path.count) bytes; \(maxBytes) are allowed"
        }
        var (count, start) = (0, 0)
        while start <= path.count {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.count
            let segment = UnsafeBufferPointer(rebasing: path[start..<end])
            if let problem = PathSegment.problem(in: segment) { return problem }
            count += 1
            start = end + 1
        }
        guard count <= maxSegments else {
            return "has \(count) segments; \(maxSegments) are allowed"
        }
        guard count.isMultiple(of: 2) == (kind == .document) else {
            let parity = kind == .document ? "even" : "odd"
            return "has \(count) segments, which is not an \(parity) number"
        }
        return nil
    }

    /// This path with another segment behind it.
    func appending(_ id: String, _ kind: Kind) throws(LarderError) -> ResourcePath {
        guard !id.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidName("the id '\(id)' contains a slash")
        }
        guard !id.utf8.isEmpty else { throw .invalidName("an id is empty") }
        return try ResourcePath(parsing: string + "/" + id, kind)
    }

    var utf8Segments: [Substring.UTF8View] {
        string.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    var segments: [String] { utf8Segments.map { String(Substring($0)) } }

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
        guard other.string.hasUTF8Prefix(string) else { return false }
        let rest = other.string.utf8.dropFirst(string.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    /// Segment by segment, then by their number.
    func order(to other: ResourcePath) -> Int {
        string.withUTF8Bytes { left in
            other.string.withUTF8Bytes { right in PathSegments.order(left, right) }
        }
    }
}

extension String {
    fileprivate var withoutOuterSlashes: String {
        var part = utf8[...]
        if part.first == UInt8(ascii: "/") { part.removeFirst() }
        if part.last == UInt8(ascii: "/") { part.removeLast() }
        return String(Substring(part))
    }
}
