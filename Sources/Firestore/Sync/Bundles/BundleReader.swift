import LarderCore
package import LarderModel
import LarderQuery
import LarderRemote

/// Parses a bundle incrementally: a sequence of parts, each a length in decimal digits and a JSON
/// object.
struct BundleReader: Sendable {
    /// The maximum size of a part, far above that of a document of 1 MiB in JSON.
    static let maxElementBytes = 32 << 20
    private static let maxDigits = 8

    /// The size of the parts so far, with their lengths.
    private(set) var bytesRead: Int64 = 0
    private let database: DatabaseID
    private var bytes: [UInt8] = []
    /// The number of bytes that were parsed.
    private var start = 0

    init(database: DatabaseID) {
        self.database = database
    }

    mutating func append(_ more: some Collection<UInt8>) {
        if start > bytes.count / 2 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// The next part; nil until it is complete.
    ///
    /// - Throws: `invalidArgument` for a malformed part. The reader then stays where it is.
    mutating func next() throws(LarderError) -> BundleElement? {
        guard let range = try nextElement() else { return nil }
        let result: Result<BundleElement, LarderError> = bytes.withUnsafeBytes { bytes in
            let text = UnsafeRawBufferPointer(rebasing: bytes[range])
            return Result { () throws(LarderError) in
                try BundleElement(json: text, in: database)
            }
        }
        let element = try result.get()
        bytesRead += Int64(range.upperBound - start)
        start = range.upperBound
        return element
    }

    /// Throws unless the bytes end after a part.
    func finish() throws(LarderError) {
        guard start == bytes.count else { throw .malformedBundle("it ends inside a part") }
    }

    /// The range of the next part's JSON; nil until it is complete.
    private func nextElement() throws(LarderError) -> Range<Int>? {
        let head = bytes[start...].prefix(Self.maxDigits + 1)
        guard let brace = head.firstIndex(where: { !$0.isDigit }) else {
            guard head.count <= Self.maxDigits else { throw .malformedBundle("an endless length") }
            return nil
        }
        let length = Int(String(decoding: bytes[start..<brace], as: UTF8.self))
        guard bytes[brace] == UInt8(ascii: "{"), let length, length > 0 else {
            throw .malformedBundle("a part without its length")
        }
        guard length <= Self.maxElementBytes else {
            throw .malformedBundle("a part of \(length) bytes")
        }
        return bytes.count - brace < length ? nil : brace..<brace + length
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }
}

enum BundleElement {
    /// The first part.
    case metadata(BundleMetadata)
    /// A query, whose results may be documents before and after it.
    case namedQuery(NamedQuery)
    /// The state of a document; the fields of an existing one follow.
    case documentMetadata(BundledDocumentMetadata)
    case document(DocumentReading)
}

/// A bundle's description of a document, without its fields.
struct BundledDocumentMetadata {
    let path: DocumentPath
    let readTime: SnapshotVersion
    let exists: Bool
    /// The names of the queries whose result it is in.
    let queries: [String]
}

/// A bundle's description of itself.
package struct BundleMetadata: Sendable, Equatable {
    package let id: String
    /// A newer bundle replaces an older one of the same id.
    package let createTime: SnapshotVersion
    package let version: Int
    package let totalDocuments: Int
    /// The size of the parts after this one.
    package let totalBytes: Int64
    static let knownVersion: Int64 = 1

    /// The maximum size of a bundle's id, and of a query's name.
    package static let maxNameBytes = 1500

    package init(
        id: String, createTime: SnapshotVersion, version: Int, totalDocuments: Int,
        totalBytes: Int64
    ) {
        self.id = id
        self.createTime = createTime
        self.version = version
        self.totalDocuments = totalDocuments
        self.totalBytes = totalBytes
    }
}

extension BundleElement {
    /// - Throws: `invalidArgument` for a malformed part, and for names of another database.
    init(json text: UnsafeRawBufferPointer, in database: DatabaseID) throws(LarderError) {
        guard case .object(let members) = try JSONValue(bundled: text), members.count == 1,
            let member = members.first, member.value.isObject
        else { throw .malformedBundle("a part is no object of one member") }
        let content = member.value
        switch member.name {
        case "metadata": self = .metadata(try BundleMetadata(json: content))
        case "namedQuery": self = .namedQuery(try NamedQuery(json: content, in: database))
        case "documentMetadata":
            self = .documentMetadata(try BundledDocumentMetadata(json: content, in: database))
        case "document": self = .document(try DocumentReading(json: content, in: database))
        default: throw .malformedBundle("an unknown part '\(member.name)'")
        }
    }
}

extension BundleMetadata {
    fileprivate init(json node: JSONValue) throws(LarderError) {
        let version = try node.integer("version")
        guard version == Self.knownVersion else {
            throw .malformedBundle("version \(version) is not known here")
        }
        let (documents, bytes) = (
            try node.integer("totalDocuments"), try node.integer("totalBytes")
        )
        guard documents >= 0, bytes >= 0 else { throw .malformedBundle("a size below 0") }
        self.init(
            id: try node.name("id"), createTime: SnapshotVersion(try node.timestamp("createTime")),
            version: Int(version), totalDocuments: Int(documents), totalBytes: bytes)
    }
}

extension NamedQuery {
    fileprivate init(json node: JSONValue, in database: DatabaseID) throws(LarderError) {
        guard let query = node.member("bundledQuery") else {
            throw .malformedBundle("a name without a query")
        }
        self.init(
            name: try node.name("name"), query: try Query(bundled: query, in: database),
            readTime: SnapshotVersion(try node.timestamp("readTime")))
    }
}

extension BundledDocumentMetadata {
    fileprivate init(json node: JSONValue, in database: DatabaseID) throws(LarderError) {
        path = try node.documentPath("name", in: database)
        readTime = try node.version("readTime")
        exists = try node.boolean("exists")
        var queries: [String] = []
        for query in try node.array("queries") {
            guard case .string(let name) = query else {
                throw .malformedBundle("the name of a query is no text")
            }
            queries.append(name)
        }
        self.queries = queries
    }
}

extension DocumentReading {
    fileprivate init(json node: JSONValue, in database: DatabaseID) throws(LarderError) {
        let fields = try MapValue(json: node.members("fields"))
        let createTime = try node.member("createTime")?.timestamp()
        let record: Record
        do throws(LarderError) {
            record = try Record(fields)
        } catch {
            throw .malformedBundle("fields that no document has", cause: error)
        }
        self.init(
            path: try node.documentPath("name", in: database),
            contents: .found(record, createTime: createTime),
            version: try node.version("updateTime"))
    }
}

extension JSONValue {
    /// Text that can be a stored name.
    fileprivate func name(_ member: String) throws(LarderError) -> String {
        let name = try string(member)
        guard (1...BundleMetadata.maxNameBytes).contains(name.utf8.count) else {
            throw .malformedBundle("'\(member)' is empty or too long")
        }
        return name
    }

    fileprivate func version(_ member: String) throws(LarderError) -> SnapshotVersion {
        let version = SnapshotVersion(try timestamp(member))
        guard !version.isNone else { throw .malformedBundle("'\(member)' is no version") }
        return version
    }

    fileprivate func documentPath(_ member: String, in database: DatabaseID)
        throws(LarderError) -> DocumentPath
    {
        let name = ResourceName(try string(member))
        guard let (owner, path) = name.parts, owner == database else {
            throw .malformedBundle("'\(name)' is no document of this database")
        }
        return path
    }
}
