import LarderModel
import LarderStorage

/// Cached documents while acknowledgements and updates are applied to them; each is written once.
struct CachedDocuments {
    /// A document that has changed.
    struct Change {
        let path: DocumentPath
        /// Whether it existed with known fields.
        let wasFound: Bool
        /// The document as it is now.
        let document: WorkingDocument
    }

    private struct Entry {
        let wasFound: Bool
        var document: WorkingDocument
        /// When it was learnt; nil as long as it has not changed.
        var readTime: SnapshotVersion?
    }

    private var entries: [DocumentPath: Entry] = [:]

    /// A document as the changes so far have made it.
    mutating func document<T: ReadableTransaction & ~Copyable>(
        at path: DocumentPath, in transaction: borrowing T
    ) throws(LarderError) -> WorkingDocument {
        if let entry = entries[path] { return entry.document }
        let document = WorkingDocument(try transaction.document(at: path))
        entries[path] = Entry(wasFound: document.isFound, document: document)
        return document
    }

    /// Replaces a document that was asked for before.
    mutating func replace(
        _ path: DocumentPath, with document: WorkingDocument, readTime: SnapshotVersion
    ) {
        entries[path]?.document = document
        entries[path]?.readTime = readTime
    }

    /// Writes what has changed.
    ///
    /// A document beyond the store's limits is kept as one with unknown fields.
    func write(to transaction: inout WriteTransaction) throws(LarderError) -> [Change] {
        var changes: [Change] = []
        for (path, entry) in entries {
            guard let readTime = entry.readTime else { continue }
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
            changes.append(Change(path: path, wasFound: entry.wasFound, document: document))
        }
        return changes
    }
}

extension LarderError {
    /// Whether a record is deeper or larger than the store takes.
    var isBeyondLimits: Bool { condition == .tooDeep || condition == .tooLarge }
}
