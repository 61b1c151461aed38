import HashTreeCollections
import LarderModel
import LarderQuery
import LarderSync

/// How far a test document's latest write has come.
enum WriteState {
    case synced
    case local
    case committed
}

extension Document {
    /// A found document.
    static func test(
        _ path: String, _ fields: MapValue = MapValue(), _ state: WriteState = .synced,
        version: Int64? = nil
    ) throws -> Document {
        Document(
            path: try DocumentPath(path), state: .found, record: try Record(fields),
            version: version.map { .test($0) } ?? .none, createTime: nil, readTime: .none,
            hasLocalMutations: state == .local, hasCommittedMutations: state == .committed,
            largestBatchID: state == .local ? 1 : 0, storedBytes: 0)
    }

    /// A document that is known not to exist.
    static func absent(_ path: String) throws -> Document {
        Document(
            path: try DocumentPath(path), state: .absent, record: nil, version: .none,
            createTime: nil, readTime: .none, hasLocalMutations: false,
            hasCommittedMutations: false, largestBatchID: 0, storedBytes: 0)
    }
}

extension Query {
    /// A query for a collection, ordered by a field where one is given.
    static func test(
        _ collection: String, by field: String? = nil, descending: Bool = false,
        limit: Limit? = nil, where filters: FieldFilter...
    ) throws -> Query {
        var orders: [Order] = []
        if let field { orders.append(Order(try FieldPath(field), isDescending: descending)) }
        return Query(
            .collection(try CollectionPath(collection)), filters: filters.map { .field($0) },
            orders: orders, limit: limit)
    }
}

extension FieldFilter {
    /// A condition on a field of one name.
    static func test(_ field: String, _ op: Operator, _ value: Value) throws -> FieldFilter {
        FieldFilter(try FieldPath(field), op, value)
    }
}

extension LocalChange {
    /// The new state of a document, its old one unknown.
    init(_ document: Document) {
        self.init(path: document.path, before: nil, after: document)
    }

    /// What a commit did to a document that existed, exists, or both.
    static func test(_ before: Document?, _ after: Document?) throws -> LocalChange {
        guard let path = (after ?? before)?.path else {
            throw LarderError(.invalidArgument, "a change has at least one side")
        }
        return LocalChange(path: path, before: before, after: after)
    }
}

extension ViewSnapshot {
    /// The ids of the documents, in order.
    var ids: [String] { documents.map(\.id) }

    /// The changes in short: `+a` was added, `-a` removed, `*a` modified, `~a` metadata.
    var marks: [String] {
        changes.map { change in
            let mark: String =
                switch change.kind {
                case .added: "+"
                case .removed: "-"
                case .modified: "*"
                case .metadata: "~"
                }
            return mark + change.document.id
        }
    }
}

extension View {
    /// Computes and applies new states of documents, as a test would a commit.
    mutating func step(
        _ documents: [Document] = [], target: View.TargetChange? = nil,
        isPendingReset: Bool = false, refill: [Document]? = nil
    ) throws -> (snapshot: ViewSnapshot?, limboChanges: [LimboChange]) {
        let matcher = try QueryMatcher(query)
        var changes = computeChanges(documents.map { LocalChange($0) }, matcher: matcher)
        if changes.needsRefill, let refill {
            changes = computeChanges(
                refill.map { LocalChange($0) }, matcher: nil, after: changes)
        }
        return apply(changes, target: target, isPendingReset: isPendingReset)
    }

    /// What the backend tells when it has told everything.
    static func current(_ added: String...) throws -> View.TargetChange {
        View.TargetChange(
            added: try added.map { try DocumentPath($0) }, isCurrent: true, hasResumeToken: true)
    }
}

extension ActiveViews {
    /// Gives a new view the documents of its query, as its owner does.
    mutating func load(
        _ view: ViewID, _ documents: [Document], remoteKeys: TreeSet<DocumentPath> = [],
        target: View.TargetChange? = nil,
        refill: (Query) throws(LarderError) -> [Document]
    ) -> ActiveViews.Effects {
        guard let empty = self.view(view) else { return ActiveViews.Effects() }
        return load(
            view, empty.computeInitialChanges(documents), remoteKeys: remoteKeys, target: target,
            refill: refill)
    }
}
