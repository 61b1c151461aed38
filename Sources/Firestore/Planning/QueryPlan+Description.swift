import LarderDocumentStore
import LarderModel

extension QueryPlan {
    /// The plan's kind, as an execution tells it.
    var kind: QueryExecution.Kind {
        switch self {
        case .nothing: .nothing
        case .lookup: .documentLookup
        case .names(let scan): scan.kind
        case .index: .indexScan
        case .intersection: .intersection
        case .union, .merge: .union
        case .target: .targetDocuments
        }
    }

    /// The plan as a tree, a node a line, deeper ones indented.
    func text(indent: String = "") -> String {
        switch self {
        case .nothing: return indent + "nothing: no document can match"
        case .lookup(let paths, _):
            return indent
                + "document look-up: \(paths.count == 1 ? paths[0].string : "\(paths.count) names")"
        case .names(let scan): return indent + scan.text
        case .index(let scan): return indent + scan.text
        case .intersection(let scans, _):
            let parts = scans.map { indent + "  " + $0.text }
            return ([indent + "intersection"] + parts).joined(separator: "\n")
        case .union(let plans, _):
            return Self.text(indent, "union", plans)
        case .target(let target, _, _, _):
            return indent + "documents of target \(target.id) and what has changed since"
        case .merge(let plans, _):
            return Self.text(indent, "union, in order", plans)
        }
    }

    private static func text(_ indent: String, _ title: String, _ plans: [QueryPlan]) -> String {
        let shown = plans.prefix(20).map { $0.text(indent: indent + "  ") }
        let rest = plans.count > 20 ? ["\(indent)  and \(plans.count - 20) more"] : []
        return ([indent + title] + shown + rest).joined(separator: "\n")
    }
}

extension NameScan {
    var kind: QueryExecution.Kind {
        guard isUnbounded else { return .nameRange }
        switch place {
        case .collection: return .collectionScan
        case .group: return .groupScan
        }
    }

    fileprivate var text: String {
        let name =
            switch place {
            case .collection(let path): path.string
            case .group(let id): id
            }
        return "\(kind.rawValue) of \(name)\(isReversed ? ", reversed" : "")\(delivery.text)"
    }
}

extension IndexScan {
    fileprivate var text: String {
        var text = "index scan of \(index.definition.text)"
        if isUnbounded {
            text += ", all entries"
        } else if ranges.count != 1 {
            text += ", \(ranges.count) ranges"
        }
        return text + (isReversed ? ", reversed" : "") + delivery.text
    }
}

extension Delivery {
    fileprivate var text: String {
        if isComplete { return ", in order" }
        if lacksNameOnly { return ", in order but the name" }
        return orderCount > 0 ? ", in order of \(orderCount) fields" : ""
    }
}

extension IndexDefinition {
    /// The definition on one line: `cities(state ASC, population DESC, tags CONTAINS)`.
    package var text: String {
        let fields = segments.map { "\($0.path) \($0.kind.text)" }
        return "\(collectionGroup)(\(fields.joined(separator: ", ")))"
    }
}

extension IndexDefinition.Segment.Kind {
    fileprivate var text: String {
        switch self {
        case .ascending: "ASC"
        case .descending: "DESC"
        case .contains: "CONTAINS"
        }
    }
}
