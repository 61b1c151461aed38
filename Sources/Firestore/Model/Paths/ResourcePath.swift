/// The validated text of a document or collection path: segments separated by single slashes.
struct ResourcePath: Sendable {
    static let maxBytes = 6144
    static let maxSegments = 200

    /// Contiguous UTF-8, without a slash at either end.
    let string: String

    /// Adopts valid text without validation.
    init(unchecked string: String) {
        self.string = string
    }

    /// Validates text: slashes at both ends are ignored, `//` is an error; documents have an even
    /// number of segments, collections and relative document paths an odd one.
    ///
    /// - Parameter isStored: true for text that a store contains: accepts numeric IDs as earlier
    ///   versions did, in any spelling and as collection IDs.
    init(parsing text: String, _ kind: Kind, isStored: Bool = false) throws(LarderError) {
        var text = text
        var problem: String?
        var isTrimmed = false
        text.withUTF8 { bytes in
            var path = bytes[...]
            if path.first == UInt8(ascii: "/") { path.removeFirst() }
            if path.last == UInt8(ascii: "/") { path.removeLast() }
            isTrimmed = path.count < bytes.count
            problem = Self.problem(in: UnsafeBufferPointer(rebasing: path), kind, isStored)
        }
        if let problem { throw .invalidName("the \(kind.rawValue) '\(text)' \(problem)") }
        string = isTrimmed ? text.withoutOuterSlashes : text
    }

    enum Kind: String {
        case document = "document path"
        case collection = "collection path"
        /// A document's path relative to a collection: an ID, or a longer path.
        case documentBelow = "relative document path"
    }

    /// The problem of an invalid path as a phrase; nil for a valid one.
    private static func problem(
        in path: UnsafeBufferPointer<UInt8>, _ kind: Kind, _ isStored: Bool
    ) -> String? {
        guard !path.isEmpty else { return "is empty" }
        guard path.count <= maxBytes else {
            return "has \(path.count) bytes; the limit is \(maxBytes)"
        }
        var (count, start) = (0, 0)
        // Collections and documents alternate; a relative document path begins with a document.
        let documents = kind == .documentBelow ? 0 : 1
        while start <= path.count {
            let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.count
            let segment = UnsafeBufferPointer(rebasing: path[start..<end])
            let numeric: PathSegment.NumericIDs =
                isStored ? .any : count % 2 == documents ? .canonical : .none
            if let problem = PathSegment.problem(in: segment, numeric) { return problem }
            count += 1
            start = end + 1
        }
        guard count <= maxSegments else {
            return "has \(count) segments; the limit is \(maxSegments)"
        }
        guard count.isMultiple(of: 2) == (kind == .document) else {
            let parity = kind == .document ? "even" : "odd"
            return
                "has \(count == 1 ? "1 segment" : "\(count) segments"), which is not an \(parity) number"
        }
        return nil
    }

    func appending(_ id: String, _ kind: Kind) throws(LarderError) -> ResourcePath {
        guard !id.utf8.contains(UInt8(ascii: "/")) else {
            throw .invalidName("the ID '\(id)' contains a slash")
        }
        guard !id.utf8.isEmpty else { throw .invalidName("an ID is empty") }
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

    /// All but the last segment; nil if there is only one.
    var parent: ResourcePath? {
        guard let slash = string.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return ResourcePath(unchecked: String(string[..<slash]))
    }

    /// True if the other path starts with all segments of this one.
    func isPrefix(of other: ResourcePath) -> Bool {
        guard other.string.hasUTF8Prefix(string) else { return false }
        let rest = other.string.utf8.dropFirst(string.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    /// The order by segments, then by their number.
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

// MARK: - Segments

/// The rules for one segment of a document or collection path.
enum PathSegment {
    /// Firestore's limit for an ID, in bytes.
    static let maxBytes = 1500

    /// Firestore's order of two segments: numeric IDs (`__id42__`) first and by number, the others
    /// by UTF-8 bytes; of several spellings of one number the canonical one first.
    static func order<C: BidirectionalCollection<UInt8>>(_ left: C, _ right: C) -> Int {
        // Numeric IDs begin with an underscore.
        guard left.first == UInt8(ascii: "_") || right.first == UInt8(ascii: "_") else {
            return left.byteOrder(to: right)
        }
        switch (numericID(left), numericID(right)) {
        case (nil, nil): return left.byteOrder(to: right)
        case (_?, nil): return -1
        case (nil, _?): return 1
        case (let l?, let r?):
            if l != r { return l < r ? -1 : 1 }
            let order = left.byteOrder(to: right)
            guard order != 0 else { return 0 }
            let canonical = "__id\(l)__".utf8
            if left.elementsEqual(canonical) { return -1 }
            return right.elementsEqual(canonical) ? 1 : order
        }
    }

    /// The number in `__id<digits>__`, with an optional minus sign, if it is an Int64.
    static func numericID<C: BidirectionalCollection<UInt8>>(_ segment: C) -> Int64? {
        guard segment.count > 6, segment.starts(with: "__id".utf8),
            segment.suffix(2).elementsEqual("__".utf8)
        else { return nil }
        let digits = segment.dropFirst(4).dropLast(2)
        // Int64.init accepts a plus sign, which Firestore does not.
        guard digits.first != UInt8(ascii: "+") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    /// The numeric IDs that are accepted among the reserved segments.
    enum NumericIDs {
        /// None: Firestore reserves them as collection IDs.
        case none
        /// Numbers other than 0 in their only valid spelling: without leading zeros.
        case canonical
        /// Any spelling of any number.
        case any
    }

    /// The problem of an invalid segment, which contains no slash; nil for a valid one.
    static func problem(
        in segment: UnsafeBufferPointer<UInt8>, _ numeric: NumericIDs
    ) -> String? {
        guard let first = segment.first else { return "has an empty segment" }
        guard segment.count <= maxBytes else {
            return "has a segment of \(segment.count) bytes; the limit is \(maxBytes)"
        }
        // Reserved segments begin with one of these two bytes.
        guard first == UInt8(ascii: ".") || first == UInt8(ascii: "_") else { return nil }
        let dots = segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8)
        let isReserved =
            segment.count >= 5 && segment.starts(with: "__".utf8)
            && segment.suffix(2).elementsEqual("__".utf8) && !isAccepted(segment, numeric)
        guard dots || isReserved else { return nil }
        return "has the reserved segment '\(String(decoding: segment, as: UTF8.self))'"
    }

    private static func isAccepted(
        _ segment: UnsafeBufferPointer<UInt8>, _ numeric: NumericIDs
    ) -> Bool {
        guard numeric != .none, let number = numericID(segment) else { return false }
        return numeric == .any || number != 0 && segment.elementsEqual("__id\(number)__".utf8)
    }
}

/// An iterator over the segments of a path in place.
struct PathSegments {
    private var rest: Slice<UnsafeRawBufferPointer>
    private var last: UnsafeRawBufferPointer?

    /// Iterates over a path, optionally followed by one more segment.
    init(_ path: UnsafeRawBufferPointer, _ last: UnsafeRawBufferPointer? = nil) {
        rest = path[...]
        self.last = last
    }

    /// The next segment; nil after the last.
    mutating func next() -> UnsafeRawBufferPointer? {
        guard !rest.isEmpty else {
            defer { last = nil }
            return last
        }
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        defer { rest = rest[end...].dropFirst() }
        return UnsafeRawBufferPointer(rebasing: rest[..<end])
    }

    /// Firestore's order of the remaining segments of two paths; a prefix sorts first.
    static func order(_ left: inout PathSegments, _ right: inout PathSegments) -> Int {
        while true {
            switch (left.next(), right.next()) {
            case (nil, nil): return 0
            case (nil, _?): return -1
            case (_?, nil): return 1
            case (let l?, let r?):
                let order = PathSegment.order(l, r)
                if order != 0 { return order }
            }
        }
    }

    /// Firestore's order of two whole paths; common leading segments are skipped.
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let slash = UInt8(ascii: "/")
        let shared = left.sharedPrefixCount(with: right)
        let start = left[..<shared].lastIndex(of: slash).map { $0 + 1 } ?? 0
        let order = PathSegment.order(
            UnsafeRawBufferPointer(rebasing: left[start...].prefix { $0 != slash }),
            UnsafeRawBufferPointer(rebasing: right[start...].prefix { $0 != slash }))
        return order != 0 ? order : left.count - right.count
    }
}

extension UnsafeRawBufferPointer {
    /// The length of the common prefix.
    fileprivate func sharedPrefixCount(with other: UnsafeRawBufferPointer) -> Int {
        let end = Swift.min(count, other.count)
        var position = 0
        while position + 8 <= end {
            let difference =
                loadUnaligned(fromByteOffset: position, as: UInt64.self)
                ^ other.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            if difference != 0 {
                return position + difference.littleEndian.trailingZeroBitCount / 8
            }
            position += 8
        }
        while position < end, self[position] == other[position] { position += 1 }
        return position
    }
}
