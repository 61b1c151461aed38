import LarderDocumentStore
package import LarderModel
import LarderQuery

/// A plan that finds all documents that match a query, and possibly others.
indirect enum QueryPlan: Sendable {
    case nothing
    /// Documents by name, in the order given.
    case lookup([DocumentPath], ProvidedOrder)
    /// A range of names, or a whole collection or group.
    case documentIDs(DocumentIDScan)
    case index(IndexScan)
    /// The intersection of several index scans of one term.
    case intersection([IndexScan], SetOrder)
    /// The union of several plans, each document once.
    case union([QueryPlan], SetOrder)
    /// The documents of a target, those read since, and those with pending writes.
    case target(TargetDocuments, CollectionPath, UserID, SetOrder)
    /// Several plans that each yield the requested order, merged for the first documents overall.
    case merge([QueryPlan], ProvidedOrder)

    /// The order in which a set of documents is scanned: by name.
    struct SetOrder: Sendable, Hashable {
        let isReversed: Bool
        let providedOrder: ProvidedOrder

        /// For documents in name order within each collection.
        init(_ place: DocumentIDScan.Place, _ direction: Bool?) {
            isReversed = direction ?? false
            if case .collection = place, direction != nil {
                providedOrder = .complete
            } else {
                providedOrder = .none
            }
        }
    }

    /// The part of the requested order in which a plan yields its documents.
    var providedOrder: ProvidedOrder {
        switch self {
        case .nothing: .complete
        case .lookup(_, let providedOrder): providedOrder
        case .documentIDs(let scan): scan.providedOrder
        case .index(let scan): scan.providedOrder
        case .intersection(_, let order), .union(_, let order), .target(_, _, _, let order):
            order.providedOrder
        case .merge(_, let providedOrder): providedOrder
        }
    }

    /// True if the last document of the scan's order comes first.
    var isReversed: Bool {
        switch self {
        case .documentIDs(let scan): scan.isReversed
        case .index(let scan): scan.isReversed
        case .intersection(_, let order), .union(_, let order), .target(_, _, _, let order):
            order.isReversed
        case .nothing, .lookup, .merge: false
        }
    }

    /// The sources to scan, in order.
    var sources: [DocumentSource] {
        switch self {
        case .nothing, .merge: []
        case .lookup(let paths, _):
            paths.map { path in
                let bound = ScanBound.id(path.id)
                return .collection(path.parent, from: bound, to: bound)
            }
        case .documentIDs(let scan): [scan.source]
        case .index(let scan): scan.sources
        case .intersection(let scans, _):
            [.intersection(scans.map { .union($0.sources) })]
        case .union(let plans, _):
            [.union(plans.flatMap(\.sources))]
        case .target(let target, let collection, let user, _):
            [
                .union([
                    .target(target.id), .readAfter(target.limboFreeVersion, in: collection),
                    .overlays(of: user, in: collection),
                ])
            ]
        }
    }

    /// The indexes that are scanned, each once.
    var indexes: [IndexInfo] {
        switch self {
        case .nothing, .lookup, .documentIDs, .target: return []
        case .index(let scan): return [scan.index]
        case .intersection(let scans, _): return Self.unique(scans.map(\.index))
        case .union(let plans, _), .merge(let plans, _):
            return Self.unique(plans.flatMap(\.indexes))
        }
    }

    private static func unique(_ indexes: [IndexInfo]) -> [IndexInfo] {
        var ids: Set<UInt32> = []
        return indexes.filter { ids.insert($0.id).inserted }
    }
}

/// The known documents of a target, and the version up to which they are complete.
package struct TargetDocuments: Sendable, Hashable {
    package let id: Int32
    /// The snapshot at which the target had exactly these documents and none in limbo.
    package let limboFreeVersion: SnapshotVersion

    package init(id: Int32, limboFreeVersion: SnapshotVersion) {
        self.id = id
        self.limboFreeVersion = limboFreeVersion
    }
}

// MARK: - Description

extension QueryPlan {
    var kind: QueryExecution.Kind {
        switch self {
        case .nothing: .nothing
        case .lookup: .documentLookup
        case .documentIDs(let scan): scan.kind
        case .index: .indexScan
        case .intersection: .intersection
        case .union, .merge: .union
        case .target: .targetDocuments
        }
    }

    /// The plan as a tree, one node per line, indented by depth.
    func text(indent: String = "") -> String {
        switch self {
        case .nothing: return indent + "nothing: no document can match"
        case .lookup(let paths, _):
            return indent
                + "document look-up: \(paths.count == 1 ? paths[0].string : "\(paths.count) names")"
        case .documentIDs(let scan): return indent + scan.text
        case .index(let scan): return indent + scan.text
        case .intersection(let scans, _):
            let parts = scans.map { indent + "  " + $0.text }
            return ([indent + "intersection"] + parts).joined(separator: "\n")
        case .union(let plans, _):
            return Self.text(indent, "union", plans)
        case .target(let target, _, _, _):
            return indent + "documents of target \(target.id) and changes since"
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

extension DocumentIDScan {
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
        return "\(kind.rawValue) of \(name)\(isReversed ? ", reversed" : "")\(providedOrder.text)"
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
        return text + (isReversed ? ", reversed" : "") + providedOrder.text
    }
}

extension ProvidedOrder {
    fileprivate var text: String {
        if isComplete { return ", in order" }
        if lacksDocumentIDOnly { return ", sorted, ties unsorted" }
        switch orderCount {
        case 0: return ""
        case 1: return ", in order of 1 field"
        default: return ", in order of \(orderCount) fields"
        }
    }
}

extension IndexDefinition {
    /// The definition on one line: `cities(state ASC, population DESC, tags CONTAINS)`.
    package var text: String { "\(collectionGroup)(\(fields.joined(separator: ", ")))" }

    /// The fields, with the document name that every index ends with.
    var properties: String { "(\((fields + ["__name__ ASC"]).joined(separator: ", ")))" }

    private var fields: [String] { segments.map { "\($0.path) \($0.kind.text)" } }
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
