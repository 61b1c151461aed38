import LarderModel
package import LarderRemote

extension WatchResponse {
    /// The response in a few words, for comparing with what is expected: `current 1`,
    /// `c/a +1 -2`, `c/a gone -1`, `c/a out -1`, `filter 1 has 3`, `snapshot`.
    package var text: String {
        switch self {
        case .targets(let change): change.text
        case .document(let reading, let joined, let left):
            reading.path.string + (reading.exists ? "" : " gone")
                + joined.map { " +\($0)" }.joined() + left.map { " -\($0)" }.joined()
        case .removed(let path, let left):
            path.string + " out" + left.map { " -\($0)" }.joined()
        case .unreadable(let path, _, let joined, let left):
            "\(path?.string ?? "?") unreadable" + joined.map { " +\($0)" }.joined()
                + left.map { " -\($0)" }.joined()
        case .existenceFilter(let id, let count, let unchanged):
            "filter \(id) has \(count)" + (unchanged == nil ? "" : " and bits")
        }
    }
}

extension TargetChange {
    fileprivate var text: String {
        let ids = targetIDs.map { " \($0)" }.joined()
        switch kind {
        case .none where targetIDs.isEmpty && !readTime.isNone:
            return "snapshot" + (resumeToken.isEmpty ? " without token" : "")
        case .none: return "token" + ids
        case .added: return "added" + ids
        case .removed(nil): return "removed" + ids
        case .removed(let error?): return "removed\(ids) \(error.kind)"
        case .current: return "current" + ids
        case .reset: return "reset" + ids
        }
    }
}
