/// A storage of documents, mutations, overlays and targets that the law can be tried on.
///
/// The law: transactions are serializable. A write's changes become visible all at once when it
/// commits, and never when it aborts; a question is answered from one committed state; and after
/// any sequence of transactions every answer is that of ``StorageModel`` after the same sequence.
public protocol StorageUnderTest {
    /// Makes changes in one transaction, and gives its operations' answers; when it is to abort,
    /// leaves everything as it was.
    func apply(_ operations: [StorageOperation], aborts: Bool) throws -> [StorageAnswer]

    /// Answers a question from the newest commit.
    func answer(_ question: StorageQuestion) throws -> [String]
}
