import LarderDocumentStore
package import LarderModel
import LarderRemote

/// Lists of what the cache has, with pending writes.
///
/// All run on the calling thread, on the newest commit, and are linear in the number of collections
/// and of pending writes.
extension Client {
    /// The IDs of the collections below a document, or at the root for nil, that have documents or
    /// descendants of documents, in order.
    package func collectionIDs(below parent: DocumentPath?) throws(LarderError) -> [String] {
        try checkOpen()
        let user = engine.session.user
        let ids = try store.read { (transaction) throws(LarderError) in
            try transaction.firstSegments(below: parent.map { $0.string + "/" } ?? "", of: user)
        }
        return ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The documents of a collection, including missing ones that have descendants, in order.
    package func documents(in collection: CollectionPath)
        throws(LarderError) -> [DocumentPath]
    {
        try checkOpen()
        let user = engine.session.user
        return try store.read { (transaction) throws(LarderError) in
            var paths = Set<DocumentPath>()
            for id in try transaction.firstSegments(below: collection.string + "/", of: user) {
                paths.insert(try collection.document(id))
            }
            try transaction.documents(
                in: .collection(collection), options: .names(of: user)
            ) { entry throws(LarderError) in
                paths.insert(entry.path)
                return .continue
            }
            return paths.sorted()
        }
    }
}

extension Client {
    /// The documents of a part of the database after a document, in order, up to the page's limit.
    func list(_ page: SubtreePage) throws(LarderError) -> [DocumentPath] {
        try checkOpen()
        let user = engine.session.user
        return try store.read { (transaction) throws(LarderError) in
            var paths: [DocumentPath] = []
            for collection in try transaction.collectionPaths(asSeenBy: user)
            where page.mayContain(documentsOf: collection) {
                // The documents of a collection come after its path.
                if paths.count == page.limit, let last = paths.last,
                    CollectionPath(unchecked: last.string) < collection
                {
                    break
                }
                var found: [DocumentPath] = []
                try transaction.documents(
                    in: .collection(collection), options: .names(of: user)
                ) { entry throws(LarderError) in
                    let path = entry.path
                    if page.after.map({ $0 < path }) ?? true { found.append(path) }
                    return found.count < page.limit ? .continue : .stop
                }
                paths = Array((paths + found).sorted().prefix(page.limit))
            }
            return paths
        }
    }
}

extension SubtreePage {
    /// True if the page may have documents of a collection: it is below the page's place, and not all
    /// of its documents precede those of the page.
    fileprivate func mayContain(documentsOf path: CollectionPath) -> Bool {
        let isInPart =
            switch subtree {
            case .below(let document): path.string.utf8.starts(with: "\(document.string)/".utf8)
            case .collection(let collection):
                path == collection || path.string.utf8.starts(with: "\(collection.string)/".utf8)
            }
        guard isInPart, let after else { return isInPart }
        return CollectionPath(unchecked: after.string) < path
            || after.string.utf8.starts(with: "\(path.string)/".utf8)
    }
}

extension ReadTransaction {
    /// The first segments after a prefix in the paths of collections that have documents.
    fileprivate borrowing func firstSegments(below prefix: String, of user: UserID)
        throws(LarderError) -> Set<String>
    {
        var names = Set<String>()
        for collection in try collectionPaths(asSeenBy: user) {
            guard collection.string.utf8.starts(with: prefix.utf8),
                let first = collection.string.utf8.dropFirst(prefix.utf8.count)
                    .split(separator: UInt8(ascii: "/")).first
            else { continue }
            let name = String(Substring(first))
            guard !names.contains(name) else { continue }
            var isEmpty = true
            try documents(in: .collection(collection), options: .names(of: user)) { _ in
                isEmpty = false
                return .stop
            }
            if !isEmpty { names.insert(name) }
        }
        return names
    }
}

extension ScanOptions {
    /// The names of the documents that a user sees.
    fileprivate static func names(of user: UserID) -> ScanOptions {
        ScanOptions(readsNamesOnly: true, user: user)
    }
}
