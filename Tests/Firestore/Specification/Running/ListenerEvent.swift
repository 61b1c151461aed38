import LarderModel
import LarderQuery
import LarderSync

/// A listener's event, actual or expected: a snapshot's metadata and changes, or an error.
struct ListenerEvent: Sendable, Equatable {
    let query: Query
    /// Nil for a snapshot.
    let error: LarderError.Code?
    let isFromCache: Bool
    let hasPendingWrites: Bool
    /// In the order of paths: their order in a snapshot is not compared.
    let changes: [DocumentViewChange]

    /// An event; of an error nothing else counts.
    init(
        query: Query, error: LarderError.Code? = nil, isFromCache: Bool = false,
        hasPendingWrites: Bool = false, changes: some Sequence<DocumentViewChange> = []
    ) {
        self.query = query
        self.error = error
        self.isFromCache = error == nil && isFromCache
        self.hasPendingWrites = error == nil && hasPendingWrites
        self.changes =
            error == nil ? changes.sorted { $0.document.path < $1.document.path } : []
    }

    /// What a client has told.
    init(_ query: Query, _ result: Result<ViewSnapshot, LarderError>) {
        switch result {
        case .success(let snapshot):
            self.init(
                query: snapshot.query, isFromCache: snapshot.isFromCache,
                hasPendingWrites: snapshot.hasPendingWrites, changes: snapshot.changes)
        case .failure(let error):
            self.init(query: query, error: error.kind)
        }
    }

    /// Text by which events of one step are brought into one order, those of one query as they
    /// came.
    var sortingText: String { query.canonicalText }
}

extension ListenerEvent: CustomStringConvertible {
    var description: String {
        if let error { return "\(query.canonicalText): error \(error)" }
        let flags =
            (isFromCache ? " from cache" : " synced") + (hasPendingWrites ? ", pending" : "")
        return query.canonicalText + ":" + flags
            + changes.map { "\n      \($0.kind) \($0.document.summary)" }.joined()
    }
}

extension Query {
    /// The target's canonical id with the kind of limit.
    var canonicalText: String { target.canonicalID + (isLimitedToLast ? "|last" : "") }
}

extension Document {
    /// What is compared of a document, on one line.
    var summary: String {
        let flags =
            (hasLocalMutations ? " local" : "") + (hasCommittedMutations ? " committed" : "")
        return "\(path)@\(version.microseconds) \(state)\(flags) \(fields.dictionary)"
    }
}

extension SnapshotVersion {
    /// Microseconds since the epoch, as the suites count.
    var microseconds: Int64 {
        timestamp.seconds * 1_000_000 + Int64(timestamp.nanoseconds) / 1_000
    }
}
