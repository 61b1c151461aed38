/// The path of a collection relative to its database's root: `cities`, an odd number of segments.
///
/// Paths are validated on creation, including Firestore's limits: 6 KiB, 1,500 bytes per segment,
/// 200 segments, no `.`, `..` or `__reserved__` IDs. Equality compares bytes.
public struct CollectionPath: Sendable {
    let path: ResourcePath

    /// Parses a path; slashes at both ends are ignored.
    ///
    /// - Throws: `invalidArgument` for an empty path, `//`, an even number of segments, or a
    ///   segment that Firestore forbids.
    public init(_ text: String) throws(LarderError) {
        path = try ResourcePath(parsing: text, .collection)
    }

    /// Parses a path that a store contains; accepts the numeric IDs of earlier versions.
    package init(stored text: String) throws(LarderError) {
        path = try ResourcePath(parsing: text, .collection, isStored: true)
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

    /// The collection ID: the last segment, which also names its collection group.
    public var id: String { path.id }

    /// The parent document; nil at the root.
    public var parent: DocumentPath? {
        path.parent.map { DocumentPath($0, checked: true) }
    }

    /// The segments in order.
    public var segments: [String] { path.segments }

    /// The path of a document in the collection.
    ///
    /// - Throws: `invalidArgument` for an ID that is empty, contains a slash or is forbidden.
    public func document(_ id: String) throws(LarderError) -> DocumentPath {
        DocumentPath(try path.appending(id, .document), checked: true)
    }

    /// The path of a document in the collection, with a new random ID.
    public func newDocument() throws(LarderError) -> DocumentPath {
        try document(Self.newDocumentID())
    }

    /// True if the document is directly in this collection.
    public func contains(_ document: DocumentPath) -> Bool {
        document.parent == self
    }

    /// Twenty random letters and digits, Firestore's form of IDs.
    public static func newDocumentID() -> String {
        let symbols = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<20).map { _ in
            symbols[Int.random(in: 0..<symbols.count, using: &random)]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension CollectionPath: Hashable, Comparable {
    /// True if both paths have the same bytes.
    public static func == (left: CollectionPath, right: CollectionPath) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Firestore's order: segment by segment, numeric IDs (`__id42__`) first.
    public static func < (left: CollectionPath, right: CollectionPath) -> Bool {
        left.path.order(to: right.path) < 0
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        string.hashUTF8(into: &hasher)
    }
}

extension CollectionPath: CustomStringConvertible {
    /// The path as text.
    public var description: String { string }
}
