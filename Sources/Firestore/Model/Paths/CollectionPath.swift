/// The path of a collection below its database's root: `cities`, an odd number of segments.
///
/// A path is checked when it is made, also against Firestore's limits: 6 KiB, 1,500 bytes a
/// segment, 200 segments, no `.`, `..` or `__reserved__` ids. Two paths are equal when their
/// bytes are.
public struct CollectionPath: Sendable {
    let path: ResourcePath

    /// Parses a path; slashes at its ends are ignored.
    ///
    /// - Throws: `invalidArgument` for an empty path, `//`, an even number of segments, or a
    ///   segment that Firestore forbids.
    public init(_ text: String) throws(LarderError) {
        path = try ResourcePath(parsing: text, .collection)
    }

    init(_ path: ResourcePath, checked: Bool) {
        self.path = path
    }

    /// Takes a path from the storage core without checking it.
    package init(unchecked string: String) {
        path = ResourcePath(unchecked: string)
    }

    /// The path as text, without slashes at its ends.
    public var string: String { path.string }

    /// The collection's id: the last segment, which names its collection group, too.
    public var id: String { path.id }

    /// The document that the collection is below; nil at the root.
    public var parent: DocumentPath? {
        path.parent.map { DocumentPath($0, checked: true) }
    }

    /// The segments in order.
    public var segments: [String] { path.segments }

    /// The path of a document in the collection.
    ///
    /// - Throws: `invalidArgument` when the id is empty, has a slash or is forbidden.
    public func document(_ id: String) throws(LarderError) -> DocumentPath {
        DocumentPath(try path.appending(id, .document), checked: true)
    }

    /// The path of a document in the collection, with a new random id.
    public func newDocument() throws(LarderError) -> DocumentPath {
        try document(Self.newDocumentID())
    }

    /// True if the document is in this collection itself, not in one below.
    public func contains(_ document: DocumentPath) -> Bool {
        document.parent == self
    }

    /// Twenty random letters and digits, as Firestore makes ids.
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
    /// True if both paths are the same bytes.
    public static func == (left: CollectionPath, right: CollectionPath) -> Bool {
        left.string.hasSameUTF8(as: right.string)
    }

    /// Firestore's order: segment by segment, numeric ids (`__id42__`) first.
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
