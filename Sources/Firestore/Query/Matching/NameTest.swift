import Foundation
import LarderModel

/// A condition on a document's name, prepared.
enum NameTest: Sendable {
    case compare(DocumentPath, AcceptedOrders)
    /// In the order of documents.
    case isIn([DocumentPath])
    case isNotIn([DocumentPath])

    init(_ filter: FieldFilter) throws(LarderError) {
        if let accepted = AcceptedOrders(filter.op) {
            self = .compare(try filter.value.documentPath(for: filter.op), accepted)
            return
        }
        guard filter.op == .in || filter.op == .notIn, case .array(let values) = filter.value
        else {
            throw .invalidArgument(
                "'\(filter.op.rawValue)' does not apply to a document's name with this value")
        }
        var paths: Set<DocumentPath> = []
        for value in values { paths.insert(try value.documentPath(for: filter.op)) }
        self = filter.op == .in ? .isIn(paths.sorted()) : .isNotIn(paths.sorted())
    }

    func matches(_ path: borrowing DocumentPathView) -> Bool {
        switch self {
        case .compare(let other, let accepted): accepted.accepts(path.compare(to: other))
        case .isIn(let paths): Self.contains(path, in: paths)
        case .isNotIn(let paths): !Self.contains(path, in: paths)
        }
    }

    private static func contains(_ path: borrowing DocumentPathView, in paths: [DocumentPath])
        -> Bool
    {
        var (low, high) = (0, paths.count)
        while low < high {
            let middle = (low + high) / 2
            switch path.compare(to: paths[middle]) {
            case .orderedAscending: high = middle
            case .orderedSame: return true
            case .orderedDescending: low = middle + 1
            }
        }
        return false
    }
}

extension Value {
    /// The document that a value for the name refers to.
    fileprivate func documentPath(for op: FieldFilter.Operator) throws(LarderError) -> DocumentPath
    {
        guard let path = referencedDocument else {
            throw .invalidArgument(
                "a document's name is compared with '\(op.rawValue)' to references only")
        }
        return path
    }

    /// The document that a reference names; nil for another value.
    var referencedDocument: DocumentPath? {
        if case .reference(let name) = self { name.document } else { nil }
    }
}
