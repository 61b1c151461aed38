import LarderModel
import LarderStorage

/// The documents that a transaction touches, with a user's views of them from before.
struct ViewChanges {
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
    /// - Parameter takesBack: whether writes are gone that no backend has made.
    func changes<T: ReadableTransaction & ~Copyable>(
        in transaction: borrowing T, takesBack: Bool = false
    ) throws(LarderError) -> [LocalViewChange] {
        var changes: [LocalViewChange] = []
        changes.reserveCapacity(paths.count)
        for path in paths {
            changes.append(
                LocalViewChange(
                    path: path, before: before[path] ?? nil,
                    after: try transaction.document(at: path, asSeenBy: user),
                    takesBack: takesBack))
        }
        return changes
    }
}
