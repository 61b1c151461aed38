import LarderDocumentStore
import LarderModel
import LarderPlanning
import LarderQuery

extension View {
    /// The differences between the documents of the view's query in a store and those of the view.
    func changes<T: ReadableTransaction & ~Copyable>(
        to transaction: borrowing T, running runner: QueryRunner, of user: UserID
    ) throws(LarderError) -> [LocalChange] {
        let found = try runner.run(query, in: transaction).documents
        var changes = found.map {
            LocalChange(
                path: $0.path, before: documents.document(at: $0.path), after: $0)
        }
        let paths = Set(found.map(\.path))
        for old in documents where !paths.contains(old.path) {
            let now = try transaction.document(at: old.path, asSeenBy: user)
            changes.append(LocalChange(path: old.path, before: old, after: now))
        }
        return changes
    }
}
