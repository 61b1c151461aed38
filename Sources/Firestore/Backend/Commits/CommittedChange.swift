import LarderModel
import LarderRemote

/// What a commit has done.
struct MadeCommit {
    /// What its client is told.
    let response: CommitResponse
    /// The documents that it names, each once, as it has left them.
    let documents: [Document]
}

/// What commits did to a document.
struct CommittedChange: Sendable {
    let path: DocumentPath
    /// The document before; nil where there was nothing, not even knowledge of a delete.
    let before: Document?
    /// The document since.
    let after: Document

    /// The fields before and after, where the document existed.
    var states: [Record] { [before?.record, after.record].compactMap { $0 } }
}
