import LarderDocumentStore
import LarderModel

/// Cached documents while acknowledgements and updates are applied to them; each is written once.
struct CachedDocuments {
    /// A document that has changed.
    struct Change {
        let path: DocumentPath
        /// The document as it was; nil when nothing was known of it.
        let before: Document?
        /// The document as it is now; nil when nothing is known of it.
        let after: Document?
        /// The same, to apply pending writes to it.
        let document: WorkingDocument

        /// Whether it existed with known fields.
        var wasFound: Bool { before?.record != nil }
    }

    private struct Entry {
        let path: DocumentPath
        let before: Document?
        var document: WorkingDocument
        /// When it was learnt; nil as long as it has not changed.
        var readTime: SnapshotVersion?
    }

    /// The documents in the order in which they were first asked for.
    private var entries: [Entry] = []
    private var positions: [DocumentPath: Int] = [:]

    /// A document as the changes so far have made it.
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

    /// Replaces a document that was asked for before.
    mutating func replace(
        _ path: DocumentPath, with document: WorkingDocument, readTime: SnapshotVersion
    ) {
        guard let position = positions[path] else { return }
        entries[position].document = document
        entries[position].readTime = readTime
    }

    /// Writes what has changed, in the order in which it was first asked for.
    ///
    /// A document beyond the store's limits is kept as one with unknown fields.
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
    /// Whether a record is deeper or larger than the store takes.
    var isBeyondLimits: Bool { condition == .tooDeep || condition == .tooLarge }
}

/// The documents that a transaction touches, with a user's views of them from before.
struct TouchedViews {
    /// The documents in the order in which they were first touched.
    private(set) var paths: [DocumentPath] = []
    private var before: [DocumentPath: Document?] = [:]
    private let user: UserID

    init(of user: UserID) {
        self.user = user
    }

    /// Remembers the view of a document that is about to be touched.
    mutating func note<T: ReadableTransaction & ~Copyable>(
        _ path: DocumentPath, in transaction: borrowing T
    ) throws(LarderError) {
        guard before[path] == nil else { return }
        before[path] = .some(try transaction.document(at: path, asSeenBy: user))
        paths.append(path)
    }

    /// The changes, with the views as they are now.
    ///
    /// - Parameter revertsWrites: whether writes are gone that no backend has made.
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
