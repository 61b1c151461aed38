import Larder

/// The documents of a write, in a line.
enum DocumentList {
    /// The first three paths, and how many more there are.
    static func text(_ documents: [DocumentReference]) -> String {
        let shown = documents.prefix(3).map(\.path).joined(separator: ", ")
        let more = documents.count - 3
        return more > 0 ? "\(shown) and \(NumberText.count(more)) more" : shown
    }
}
