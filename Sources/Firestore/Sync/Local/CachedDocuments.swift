import LarderDocumentStore
import LarderModel

/// Cached documents to which acknowledgements and updates are applied; each is written once.
struct CachedDocuments {
    struct Change {
        let path: DocumentPath
        /// Nil if it was unknown.
        let before: Document?
        /// Nil if it is unknown.
        let after: Document?
        /// The document for applying pending writes.
        let document: WorkingDocument

        var wasFound: Bool { before?.record != nil }
    }

    private struct Entry {
        let path: DocumentPath
        let before: Document?
        var document: WorkingDocument
        /// The snapshot of its change; nil while unchanged.
        var readTime: SnapshotVersion?
    }

    /// In the order of the first access.
    private var entries: [Entry] = []
    private var positions: [DocumentPath: Int] = [:]

    /// A document with the changes so far.
    mutating func document<T: ReadableTransaction & ~Copyable>(
        at path: DocumentPath, in transaction: borrowing T
    ) throws(LarderError) -> WorkingDocument {
        if let position = positions[path] { return entries[position].document }
        let before = try transaction.document(at: path)
        let document = WorkingDocument(before)
        positions[path] = entries.count
        entries.append(Entry(path: path, before: before, document: document))
        return document
    }

    /// Replaces a document that was read before.
    mutating func replace(
        _ path: DocumentPath, with document: WorkingDocument, readTime: SnapshotVersion
    ) {
        guard let position = positions[path] else { return }
        entries[position].document = document
        entries[position].readTime = readTime
    }

    /// Writes the changed documents, in the order of the first access.
    ///
    /// A document beyond the store's limits is stored with unknown fields.
    func write(to transaction: inout WriteTransaction) throws(LarderError) -> [Change] {
        var changes: [Change] = []
        for entry in entries {
            guard let readTime = entry.readTime else { continue }
            let path = entry.path
            var document = entry.document
            if case .found(let record) = document.state {
                do throws(LarderError) {
                    try transaction.put(
                        record, at: path, version: document.version,
                        createTime: document.createTime, readTime: readTime,
                        hasCommittedMutations: document.hasCommittedMutations)
                } catch {
                    guard error.isBeyondLimits else { throw error }
                    document = WorkingDocument(state: .unknown, version: document.version)
                }
            }
            switch document.state {
            case .nothing: try transaction.remove(path)
            case .found: break
            case .absent:
                try transaction.putAbsent(
                    at: path, version: document.version, readTime: readTime,
                    hasCommittedMutations: document.hasCommittedMutations)
            case .unknown:
                try transaction.putUnknown(
                    at: path, version: document.version, readTime: readTime,
                    hasCommittedMutations: document.hasCommittedMutations)
            }
            changes.append(
                Change(
                    path: path, before: entry.before,
                    after: document.document(at: path, readTime: readTime), document: document))
        }
        return changes
    }
}

extension LarderError {
    var isBeyondLimits: Bool { condition == .tooDeep || condition == .tooLarge }
}

/// The documents that a transaction touches, with a user's former views of them.
struct TouchedViews {
    /// In the order of the first touch.
    private(set) var paths: [DocumentPath] = []
    private var before: [DocumentPath: Document?] = [:]
    private let user: UserID

    init(of user: UserID) {
        self.user = user
    }

    /// Records the view of a document before it is touched.
    mutating func note<T: ReadableTransaction & ~Copyable>(
        _ path: DocumentPath, in transaction: borrowing T
    ) throws(LarderError) {
        guard before[path] == nil else { return }
        before[path] = .some(try transaction.document(at: path, asSeenBy: user))
        paths.append(path)
    }

    /// The changes up to the present views.
    ///
    /// - Parameter revertsWrites: whether pending writes were rejected or cancelled.
    func changes<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T, revertsWrites: Bool = false
    ) throws(LarderError) -> [LocalChange] {
        var changes: [LocalChange] = []
        changes.reserveCapacity(paths.count)
        for path in paths {
            changes.append(
                LocalChange(
                    path: path, before: before[path] ?? nil,
                    after: try transaction.document(at: path, asSeenBy: user),
                    revertsWrites: revertsWrites))
        }
        return changes
    }
}
