import LarderDocumentStore
package import LarderModel
import LarderQuery

/// A way to find all documents that match a query, and perhaps others.
indirect enum QueryPlan: Sendable {
    /// Nothing can match.
    case nothing
    /// Documents by name, in the order given.
    case lookup([DocumentPath], Delivery)
    /// A range of names, or a whole collection or group.
    case names(NameScan)
    /// Ranges of an index.
    case index(IndexScan)
    /// What several index scans of one term have in common.
    case intersection([IndexScan], SetOrder)
    /// What several plans find, each document once.
    case union([QueryPlan], SetOrder)
    /// The documents of a target, those read since and those with pending writes.
    case target(TargetDocuments, CollectionPath, UserID, SetOrder)
    /// Several plans that each come in the wanted order, for the first documents of all.
    case merge([QueryPlan], Delivery)

    /// How a set of documents is gone through: by name.
    struct SetOrder: Sendable, Hashable {
        let isReversed: Bool
        let delivery: Delivery

        /// For documents in name order within each collection.
        init(_ place: NameScan.Place, _ direction: Bool?) {
            isReversed = direction ?? false
            if case .collection = place, direction != nil {
                delivery = .complete
            } else {
                delivery = .none
            }
        }
    }

    /// How far documents come in the order that is wanted.
    var delivery: Delivery {
        switch self {
        case .nothing: .complete
        case .lookup(_, let delivery): delivery
        case .names(let scan): scan.delivery
        case .index(let scan): scan.delivery
        case .intersection(_, let order), .union(_, let order), .target(_, _, _, let order):
            order.delivery
        case .merge(_, let delivery): delivery
        }
    }

    /// Whether the last document of the scan's order comes first.
    var isReversed: Bool {
        switch self {
        case .names(let scan): scan.isReversed
        case .index(let scan): scan.isReversed
        case .intersection(_, let order), .union(_, let order), .target(_, _, _, let order):
            order.isReversed
        case .nothing, .lookup, .merge: false
        }
    }

    /// What to scan, one after the other.
    var sources: [DocumentSource] {
        switch self {
        case .nothing, .merge: []
        case .lookup(let paths, _):
            paths.map { path in
                let bound = ScanBound.id(path.id)
                return .collection(path.parent, from: bound, to: bound)
            }
        case .names(let scan): [scan.source]
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
        case .nothing, .lookup, .names, .target: return []
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

/// The documents that a target is known to have, and up to when nothing is missing among them.
package struct TargetDocuments: Sendable, Hashable {
    /// The target.
    package let id: Int32
    /// The snapshot at which the target had exactly these documents and none in limbo.
    package let limboFreeVersion: SnapshotVersion

    /// The documents of a target that was without limbo documents at a version.
    package init(id: Int32, limboFreeVersion: SnapshotVersion) {
        self.id = id
        self.limboFreeVersion = limboFreeVersion
    }
}
