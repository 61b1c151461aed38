import LarderModel
import LarderStorage

/// A document with its place among a user's pending writes, to apply more of them to it.
struct LoadedDocument {
    /// The document as the user sees it; nil when nothing is known of it.
    let view: Document?
    /// The same, to go on from.
    let working: WorkingDocument
    /// The version of the cached document below; none when nothing is cached.
    let baseVersion: SnapshotVersion
    /// Whether the cached document below exists with known fields.
    let isCached: Bool
}

extension ReadableTransaction where Self: ~Copyable {
    /// A document as a user sees it, with what an overlay says of its making.
    func loadedDocument(at path: DocumentPath, of user: UserID)
        throws(LarderError) -> LoadedDocument
    {
        guard let overlay = try overlay(at: path, of: user) else {
            let cached = try document(at: path)
            return LoadedDocument(
                view: cached, working: WorkingDocument(cached),
                baseVersion: cached?.version ?? .none, isCached: cached?.record != nil)
        }
        var (version, isCached) = (SnapshotVersion.none, false)
        _ = try withDocument(at: path) { entry throws(LarderError) in
            (version, isCached) = (entry.version, entry.state == .found)
        }
        let change = try OverlayMutation(payload: overlay.payload)
        return LoadedDocument(
            view: overlay.document,
            working: WorkingDocument(view: overlay.document, madeBy: change),
            baseVersion: version, isCached: isCached)
    }
}
