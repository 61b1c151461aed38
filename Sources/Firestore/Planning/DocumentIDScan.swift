import LarderDocumentStore
import LarderModel
import LarderQuery

/// A scan of a collection or group by name that finds every document which meets a conjunction.
struct DocumentIDScan: Sendable {
    enum Place: Sendable, Hashable {
        case collection(CollectionPath)
        /// All collections with an ID.
        case group(String)
    }

    let place: Place
    private var start: End?
    private var end: End?
    let isReversed: Bool
    let providedOrder: ProvidedOrder
    /// True if the range covers all conditions and both bounds.
    private(set) var coversQuery: Bool

    /// True if the scan includes every document of its scope.
    var isUnbounded: Bool { start == nil && end == nil }

    /// True if the scan has both a first and a last name.
    var isBounded: Bool { start != nil && end != nil }

    var source: DocumentSource {
        switch place {
        case .collection(let path):
            .collection(
                path, from: start.map { .id($0.name.id, isInclusive: $0.isInclusive) },
                to: end.map { .id($0.name.id, isInclusive: $0.isInclusive) })
        case .group(let id):
            .group(
                id, from: start.map { .path($0.name, isInclusive: $0.isInclusive) },
                to: end.map { .path($0.name, isInclusive: $0.isInclusive) })
        }
    }

    private struct End {
        let name: DocumentPath
        let isInclusive: Bool
    }

    init(_ place: Place, for term: Conjunction, _ ordering: ResultOrdering) {
        self.place = place
        let direction = ordering.documentIDDirection(in: term)
        isReversed = direction ?? false
        providedOrder = direction == nil ? .none : .complete
        let orders = ordering.orders
        coversQuery =
            term.isWhole && term.conditions.isEmpty
            && orders.allSatisfy { $0.path.isDocumentID }
        for condition in term.documentIDs {
            switch condition {
            case .above(let name, let isInclusive): raise(to: name, isInclusive)
            case .below(let name, let isInclusive): lower(to: name, isInclusive)
            case .oneOf: coversQuery = false
            }
        }
        restrict(by: ordering.start, isFirst: true, orders)
        restrict(by: ordering.end, isFirst: false, orders)
    }

    private mutating func restrict(by bound: Bound?, isFirst: Bool, _ orders: [Order]) {
        guard let bound else { return }
        guard let order = orders.first, order.path.isDocumentID, bound.values.count == 1,
            let name = bound.values[0].referencedDocument
        else {
            coversQuery = false
            return
        }
        if isFirst != order.isDescending {
            raise(to: name, bound.isInclusive)
        } else {
            lower(to: name, bound.isInclusive)
        }
    }

    private mutating func raise(to name: DocumentPath, _ isInclusive: Bool) {
        guard let end = bound(at: name, isInclusive, includesBelow: false) else { return }
        guard let start, end.name < start.name || end.name == start.name && end.isInclusive
        else {
            start = end
            return
        }
    }

    private mutating func lower(to name: DocumentPath, _ isInclusive: Bool) {
        guard let new = bound(at: name, isInclusive, includesBelow: true) else { return }
        guard let end, end.name < new.name || end.name == new.name && new.isInclusive
        else {
            end = new
            return
        }
    }

    /// The end of the scan at a name, which may be in another collection.
    private mutating func bound(
        at name: DocumentPath, _ isInclusive: Bool, includesBelow: Bool
    ) -> End? {
        guard case .collection(let collection) = place, !collection.contains(name) else {
            return End(name: name, isInclusive: isInclusive)
        }
        // A name below a document sorts directly after it.
        if name.isBelow(collection),
            let document = try? collection.document(
                name.segments[collection.segments.count])
        {
            return End(name: document, isInclusive: includesBelow)
        }
        coversQuery = false
        return nil
    }
}
