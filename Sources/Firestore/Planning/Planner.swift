import LarderDocumentStore
import LarderModel
import LarderQuery

/// Enumerates the plans that can answer a query and chooses the one with the lowest estimated cost.
struct Planner {
    /// A plan and its estimated cost.
    struct Candidate: Sendable {
        let plan: QueryPlan
        let cost: Double
        var matches = 0.0
    }

    private let place: DocumentIDScan.Place
    private let ordering: ResultOrdering
    private let disjunction: Disjunction
    private let indexes: [IndexInfo]
    private let estimator: PlanEstimator
    /// True if the matches are only counted: exact index scans then read no documents.
    private let countsOnly: Bool

    /// The plan for a query that looks in a collection or group.
    static func choose<T: ReadableTransaction & ~Copyable>(
        for query: Query, in place: DocumentIDScan.Place, _ ordering: ResultOrdering,
        _ indexes: [IndexInfo], from target: TargetDocuments?, user: UserID, countsOnly: Bool,
        _ transaction: borrowing T
    ) throws(LarderError) -> ChosenPlan {
        let disjunction = Disjunction(query.filters)
        let planner = Planner(
            place: place, ordering: ordering, disjunction: disjunction, indexes: indexes,
            estimator: try PlanEstimator(
                place, indexes, user: user, rangeCount: disjunction.terms.count, in: transaction),
            countsOnly: countsOnly)
        var candidates = try planner.candidates(transaction)
        // If all documents match, the target's documents are no smaller set.
        if let target, !query.matchesAllDocuments,
            let candidate = try planner.candidate(from: target, user, transaction)
        {
            candidates.append(candidate)
        }
        candidates.sort { $0.cost < $1.cost }
        return ChosenPlan(plan: candidates.first?.plan ?? .nothing, candidates: candidates)
    }

    private func candidates<T: ReadableTransaction & ~Copyable>(_ transaction: borrowing T)
        throws(LarderError) -> [Candidate]
    {
        let terms = disjunction.terms
        guard !terms.isEmpty else { return [Candidate(plan: .nothing, cost: 0)] }
        guard terms.count > 1 else { return try candidates(for: terms[0], transaction) }
        let union = try union(terms, transaction)
        let common = try candidates(
            for: disjunction.common, atMost: union?.matches, transaction)
        return common + (union.map { [$0] } ?? [])
    }

    // MARK: One term

    /// Plans that find the documents of one term, including a full scan.
    private func candidates<T: ReadableTransaction & ~Copyable>(
        for term: Conjunction, atMost maxMatches: Double? = nil, _ transaction: borrowing T
    ) throws(LarderError) -> [Candidate] {
        if let lookup = lookup(term) { return [lookup] }
        var scans: [IndexScan] = []
        for index in indexes {
            guard let scan = try IndexScan(index, of: collection, for: term, ordering) else {
                continue
            }
            guard !scan.ranges.isEmpty else { return [Candidate(plan: .nothing, cost: 0)] }
            scans.append(scan)
        }
        let names = DocumentIDScan(place, for: term, ordering)
        if let ideal = ideal(scans, names) { return [ideal] }
        var counted = try scans.map { scan throws(LarderError) in
            (scan: scan, count: try estimator.entryCount(of: scan, in: transaction))
        }
        counted.sort { ($0.count, $1.scan.used.count) < ($1.count, $0.scan.used.count) }
        let nameCount = estimator.documentCount(of: names)
        let matches = min(matchCount(term, counted, nameCount), maxMatches ?? .infinity)
        var candidates = counted.map { scan, count in
            let (read, sorted) = work(
                count, matches, scan.providedOrder, coversQuery: scan.coversQuery)
            if countsOnly, scan.isExact {
                return Candidate(
                    plan: .index(scan), cost: PlanCosts.open + PlanCosts.entry * read,
                    matches: matches)
            }
            return Candidate(
                plan: .index(scan),
                cost: PlanCosts.open * Double(scan.ranges.count)
                    + (PlanCosts.entry + PlanCosts.lookup) * read + PlanCosts.sort * sorted,
                matches: matches)
        }
        let (read, sorted) = work(
            nameCount, matches, names.providedOrder, coversQuery: names.coversQuery)
        candidates.append(
            Candidate(
                plan: .documentIDs(names), cost: PlanCosts.open + read + PlanCosts.sort * sorted,
                matches: matches))
        if let intersection = intersection(counted, term) { candidates.append(intersection) }
        return candidates
    }

    private var collection: CollectionPath? {
        if case .collection(let path) = place { path } else { nil }
    }

    /// A look-up by document ID, if the term fixes the IDs.
    private func lookup(_ term: Conjunction) -> Candidate? {
        var names: Set<DocumentPath>?
        for case .oneOf(let some) in term.documentIDs {
            names = names.map { $0.intersection(some) } ?? Set(some)
        }
        guard let names else { return nil }
        let paths = names.filter { path in
            switch place {
            case .collection(let collection): collection.contains(path)
            case .group(let id): path.collectionGroup == id
            }
        }.sorted()
        guard !paths.isEmpty else { return Candidate(plan: .nothing, cost: 0) }
        let direction = ordering.documentIDDirection(in: term)
        return Candidate(
            plan: .lookup(
                direction == true ? paths.reversed() : paths,
                direction == nil ? .none : .complete),
            cost: PlanCosts.lookup * Double(paths.count), matches: Double(paths.count))
    }

    /// A plan that reads exactly the requested documents, so that no other plan can be cheaper: it
    /// covers the whole term and yields the requested order under a limit.
    private func ideal(_ scans: [IndexScan], _ names: DocumentIDScan) -> Candidate? {
        guard let limit = ordering.limit.map(Double.init) else { return nil }
        if names.coversQuery, names.providedOrder.isComplete {
            return Candidate(
                plan: .documentIDs(names), cost: PlanCosts.open + limit, matches: limit)
        }
        guard let scan = scans.first(where: { $0.coversQuery && $0.providedOrder.isComplete })
        else {
            return nil
        }
        return Candidate(
            plan: .index(scan),
            cost: PlanCosts.open + (PlanCosts.entry + PlanCosts.lookup) * limit, matches: limit)
    }

    /// The estimated number of documents that match a term.
    private func matchCount(
        _ term: Conjunction, _ counted: [(scan: IndexScan, count: Double)], _ nameCount: Double
    ) -> Double {
        if let whole = counted.first(where: { $0.scan.coversQuery }) { return whole.count }
        let least = min(counted.first?.count ?? nameCount, nameCount)
        return term.count == 0 && term.isWhole ? least : least / PlanCosts.guessedSelectivity
    }

    /// The documents that a scan reads, and those that are sorted afterwards.
    private func work(
        _ count: Double, _ matches: Double, _ providedOrder: ProvidedOrder, coversQuery: Bool
    ) -> (read: Double, sorted: Double) {
        guard let limit = ordering.limit.map(Double.init) else {
            return (count, providedOrder.isComplete ? 0 : min(matches, count))
        }
        let wanted = min(limit, matches)
        guard
            providedOrder.orderCount > 0 || providedOrder.lacksDocumentIDOnly
                || providedOrder.isComplete
        else {
            return (count, wanted)
        }
        let read = coversQuery ? wanted : wanted * count / max(matches, 1)
        // Documents that are equal in the provided orders are read to the end of their group.
        return (
            min(count, providedOrder.isComplete ? read : read + 1),
            providedOrder.isComplete ? 0 : wanted
        )
    }

    /// The intersection of the most selective scans, if that is cheaper than the most selective one
    /// alone.
    private func intersection(
        _ counted: [(scan: IndexScan, count: Double)], _ term: Conjunction
    ) -> Candidate? {
        let bounded = counted.filter { !$0.scan.isUnbounded }
        guard let first = bounded.first, bounded.count > 1 else { return nil }
        let all = max(estimator.documentCount, 1)
        var chosen = [first.scan]
        var used = first.scan.used
        var (left, members) = (first.count, first.count)
        for (scan, count) in bounded.dropFirst() where chosen.count < PlanCosts.maxIntersection {
            let next = left * min(count / all, 1)
            guard !scan.used.isSubset(of: used),
                (left - next) * PlanCosts.lookup > count * (PlanCosts.setMember + PlanCosts.entry)
            else { continue }
            chosen.append(scan)
            used.formUnion(scan.used)
            left = next
            members += count
        }
        guard chosen.count > 1 else { return nil }
        let order = QueryPlan.SetOrder(place, ordering.documentIDDirection(in: term))
        let cost =
            Double(chosen.count) * PlanCosts.open
            + members * (PlanCosts.setMember + PlanCosts.entry) + left * PlanCosts.lookup
            + (order.providedOrder.isComplete ? 0 : left * PlanCosts.sort)
        return Candidate(plan: .intersection(chosen, order), cost: cost, matches: left)
    }

    // MARK: Known documents

    /// A plan that reads the documents of a target and those that have changed since.
    ///
    /// Not for queries with a limit, where documents beyond the limit may enter the result.
    private func candidate<T: ReadableTransaction & ~Copyable>(
        from target: TargetDocuments, _ user: UserID, _ transaction: borrowing T
    ) throws(LarderError) -> Candidate? {
        guard let collection, ordering.limit == nil, target.limboFreeVersion != .none else {
            return nil
        }
        let order = QueryPlan.SetOrder(
            place, ordering.documentIDDirection(in: disjunction.common))
        let plan = QueryPlan.target(target, collection, user, order)
        let known = Double(try transaction.documentCount(ofTarget: target.id))
        let changed = try estimator.changeCount(
            after: target.limboFreeVersion, in: collection, transaction)
        let count = known + changed
        return Candidate(
            plan: plan,
            cost: 3 * PlanCosts.open + count * (PlanCosts.lookup + PlanCosts.setMember)
                + (order.providedOrder.isComplete ? 0 : count * PlanCosts.sort))
    }

    // MARK: Several terms

    /// The union of the best plan for each term; nil if one of them is a full scan.
    private func union<T: ReadableTransaction & ~Copyable>(
        _ terms: [Conjunction], _ transaction: borrowing T
    ) throws(LarderError) -> Candidate? {
        var parts: [Candidate] = []
        for term in terms {
            let candidates = try candidates(for: term, transaction)
            guard let best = candidates.min(by: { $0.cost < $1.cost }) else { return nil }
            switch best.plan {
            case .nothing: continue
            case .documentIDs(let scan) where scan.isUnbounded: return nil
            default: parts.append(best)
            }
        }
        guard parts.count > 1 else { return parts.first ?? Candidate(plan: .nothing, cost: 0) }
        let plans = parts.map(\.plan)
        let cost = parts.reduce(0) { $0 + $1.cost }
        let matches = parts.reduce(0) { $0 + $1.matches }
        let isOrdered = plans.allSatisfy {
            $0.providedOrder.isComplete || $0.providedOrder.orderCount > 0
                || $0.providedOrder.lacksDocumentIDOnly
        }
        if ordering.limit != nil, isOrdered {
            return Candidate(plan: .merge(plans, .none), cost: cost, matches: matches)
        }
        let order = QueryPlan.SetOrder(place, ordering.documentIDDirection(in: Conjunction()))
        return Candidate(plan: .union(plans, order), cost: cost * 1.1, matches: matches)
    }
}

struct ChosenPlan: Sendable {
    let plan: QueryPlan
    /// All candidates, cheapest first.
    let candidates: [Planner.Candidate]
}
