/// Where a field is in a document: the names of the maps on the way, and its own.
///
/// Two paths are equal when their names are the same bytes.
public struct FieldPath: Sendable {
    /// The names in order, at least one, none of them empty.
    public let segments: [String]

    /// Bytes of a field name and of a whole path, as Firestore limits them.
    public static let maxBytes = 1500

    /// The document's own name, `__name__`, as a field to order and filter by.
    public static let documentID = FieldPath(unchecked: ["__name__"])

    /// A path of names, which may hold dots and other characters.
    ///
    /// - Throws: `invalidArgument` when there is no name, an empty one, or more than 1,500 bytes.
    public init(_ segments: [String]) throws(LarderError) {
        guard !segments.isEmpty else { throw .invalidName("a field path has no names") }
        guard !segments.contains(where: { $0.utf8.isEmpty }) else {
            throw .invalidName("a field path has an empty name: \(segments)")
        }
        let size = segments.reduce(segments.count - 1) { $0 + $1.utf8.count }
        guard size <= Self.maxBytes else {
            throw .invalidName("a field path has \(size) bytes; \(Self.maxBytes) are allowed")
        }
        self.segments = segments
    }

    /// A path of names, which may hold dots and other characters.
    ///
    /// - Throws: `invalidArgument` when there is no name, an empty one, or more than 1,500 bytes.
    public init(_ segments: String...) throws(LarderError) {
        try self.init(segments)
    }

    package init(unchecked segments: [String]) {
        self.segments = segments
    }

    /// Whether this is ``documentID``.
    public var isDocumentID: Bool { self == .documentID }

    /// The last name.
    public var last: String { segments[segments.count - 1] }

    /// This path without its last name; nil when that is the only one.
    public var parent: FieldPath? {
        segments.count > 1 ? FieldPath(unchecked: segments.dropLast()) : nil
    }

    /// This path with another name behind it.
    ///
    /// - Throws: `invalidArgument` when the name is empty or the path becomes too long.
    public func appending(_ name: String) throws(LarderError) -> FieldPath {
        try FieldPath(segments + [name])
    }

    /// Whether the other path is this one or leads through it.
    public func isPrefix(of other: FieldPath) -> Bool {
        other.segments.count >= segments.count
            && zip(segments, other.segments).allSatisfy { $0.hasSameUTF8(as: $1) }
    }
}

extension FieldPath: Hashable, Comparable {
    /// Whether the names are the same bytes.
    public static func == (left: FieldPath, right: FieldPath) -> Bool {
        left.segments.count == right.segments.count && left.isPrefix(of: right)
    }

    /// Firestore's order: name by name, as segments of document paths are ordered.
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
