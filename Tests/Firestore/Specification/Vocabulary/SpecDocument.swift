import LarderModel
import LarderRemote

/// A document as a suite writes it.
struct SpecDocument: Sendable {
    private let path: DocumentPath
    private let version: SnapshotVersion
    /// Nil for a document that does not exist.
    private let record: Record?
    private let hasLocalMutations: Bool
    private let hasCommittedMutations: Bool

    init(_ node: SpecNode) throws {
        self = try node.object { object in
            // All documents of the suites were created at 0.
            _ = try object.takeIfPresent("createTime")?.integer(Int64.self)
            let value = try object.take("value")
            let (isLocal, isCommitted) =
                try object.takeIfPresent("options")?.object { options in
                    (
                        try options.takeIfPresent("hasLocalMutations")?.bool() ?? false,
                        try options.takeIfPresent("hasCommittedMutations")?.bool() ?? false
                    )
                } ?? (false, false)
            return SpecDocument(
                path: try object.take("key").documentPath(),
                version: try object.take("version").version(),
                record: value.isNull ? nil : try Record(value.fields()),
                hasLocalMutations: isLocal && !isCommitted,
                hasCommittedMutations: isCommitted)
        }
    }

    private init(
        path: DocumentPath, version: SnapshotVersion, record: Record?, hasLocalMutations: Bool,
        hasCommittedMutations: Bool
    ) {
        self.path = path
        self.version = version
        self.record = record
        self.hasLocalMutations = hasLocalMutations
        self.hasCommittedMutations = hasCommittedMutations
    }

    /// The document as a backend sends it.
    var reading: DocumentReading {
        DocumentReading(
            path: path, contents: record.map { .found($0, createTime: nil) } ?? .absent,
            version: version)
    }

    /// The document as a listener is to see it: with local changes it has no version.
    var document: Document {
        Document(
            path: path, state: record == nil ? .absent : .found, record: record,
            version: hasLocalMutations ? .none : version, createTime: nil, readTime: .none,
            hasLocalMutations: hasLocalMutations, hasCommittedMutations: hasCommittedMutations,
            largestBatchID: 0, storedBytes: 0)
    }
}
