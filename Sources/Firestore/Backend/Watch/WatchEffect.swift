import LarderModel

/// What commits mean to a watched query in view of one document.
struct WatchEffect {
    /// The document as it is now.
    let document: Document
    /// Whether the query has it.
    let isMember: Bool
    /// Whether the document itself has changed; else others have taken or left its place.
    let isChanged: Bool
}
