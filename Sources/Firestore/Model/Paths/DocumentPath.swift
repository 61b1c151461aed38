package import Foundation

/// The path of a document relative to its database's root: `cities/SF`, an even number of segments.
///
/// Paths are validated on creation, including Firestore's limits: 6 KiB, 1,500 bytes per segment,
/// 200 segments, no `.`, `..` or `__reserved__` IDs. Equality compares bytes.
public struct DocumentPath: Sendable {
    let path: ResourcePath

    /// Parses a path; slashes at both ends are ignored.
    ///
    /// - Throws: `invalidArgument` for an empty path, `//`, an odd number of segments, or a segment
    ///   that Firestore forbids.
    public init(_ text: String) throws(LarderError) {
        path = try ResourcePath(parsing: text, .document)
    }

    /// Parses a path that a store contains; accepts the numeric IDs of earlier versions.
    package init(stored text: String) throws(LarderError) {
        path = try ResourcePath(parsing: text, .document, isStored: true)
    }

    /// Parses the path of a document relative to a collection: an ID, or a longer path.
    ///
    /// - Throws: `invalidArgument` for an empty path, `//`, an even number of segments, or a
    ///   segment that Firestore forbids.
    package init(_ text: String, below collection: CollectionPath) throws(LarderError) {
        // Parsed alone first: slashes at both ends are ignored, those in between are not.
        let below = try ResourcePath(parsing: text, .documentBelow)
        path = try ResourcePath(parsing: collection.string + "/" + below.string, .document)
    }

    init(_ path: ResourcePath, checked: Bool) {
        self.path = path
    }

    /// Adopts a path of the storage core without validation.
    package init(unchecked string: String) {
        path = ResourcePath(unchecked: string)
    }

    /// The path as text, without slashes at either end.
    public var string: String { path.string }

    /// The document ID: the last segment.
    public var id: String { path.id }

    /// The collection that contains the document.
    public var parent: CollectionPath {
        CollectionPath(unchecked: string.utf8BeforeLastSlash)
    }

    /// The ID of the collection that contains the document.
    public var collectionGroup: String { parent.id }

    /// The segments in order.
    public var segments: [String] { path.segments }

    /// The path of a collection directly below the document.
    ///
    /// - Throws: `invalidArgument` for an ID that is empty, contains a slash or is forbidden.
    public func collection(_ id: String) throws(LarderError) -> CollectionPath {
        CollectionPath(try path.appending(id, .collection), checked: true)
    }

    /// True if the document is below a collection, at any depth.
    public func isBelow(_ collection: CollectionPath) -> Bool {
        collection.path.isPrefix(of: path)
    }
}

extension DocumentPath: Hashable, Comparable {
    /// True if both paths have the same bytes.
    public static func == (left: DocumentPath, right: DocumentPath) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Firestore's order: segment by segment, numeric IDs (`__id42__`) first.
    public static func < (left: DocumentPath, right: DocumentPath) -> Bool {
        left.path.order(to: right.path) < 0
    }

    /// Firestore's order, consistent with `<`.
    package func compare(to other: DocumentPath) -> ComparisonResult {
        ComparisonResult(order: path.order(to: other.path))
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }
}

extension DocumentPath: CustomStringConvertible {
    /// The path as text.
    public var description: String { string }
}

extension String {
    /// The text before the last slash; empty if there is none.
    fileprivate var utf8BeforeLastSlash: String {
        guard let slash = utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(self[..<slash])
    }
}
