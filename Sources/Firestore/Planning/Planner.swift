import LarderDocumentStore
import LarderModel
import LarderQuery

/// Thinks of the plans that can answer a query and chooses the one of the least estimated cost.
struct Planner {
    /// A plan and what it is thought to cost.
    struct Candidate: Sendable {
        let plan: QueryPlan
        let cost: Double
        /// The documents that are thought to match.
        var matches = 0.0
    }

    /// What was chosen, and from what.
    struct Choice: Sendable {
        let plan: QueryPlan
        /// The plans thought of, the cheapest first.
        let candidates: [Candidate]
    }

    private let place: NameScan.Place
    private let arrangement: Arrangement
    private let disjunction: Disjunction
    private let indexes: [IndexInfo]
    private let estimator: PlanEstimator
    /// Whether the matches are to be counted only: exact index scans then read no document.
    private let countsOnly: Bool

    /// The plan for a query that looks in a collection or group.
    static func choose<T: ReadableTransaction & ~Copyable>(
        for query: Query, in place: NameScan.Place, _ arrangement: Arrangement,
        _ indexes: [IndexInfo], from target: TargetDocuments?, user: UserID, countsOnly: Bool,
        _ transaction: borrowing T
    ) throws(LarderError) -> Choice {
        let disjunction = Disjunction(query.filters)
        let planner = Planner(
            place: place, arrangement: arrangement, disjunction: disjunction, indexes: indexes,
            estimator: try PlanEstimator(
                place, indexes, user: user, rangeCount: disjunction.terms.count, in: transaction),
            countsOnly: countsOnly)
        var candidates = try planner.candidates(transaction)
        // Where all documents match, those of the target are no smaller a place to look in.
        if let target, !query.matchesAllDocuments,
            let candidate = try planner.candidate(from: target, user, transaction)
        {
            candidates.append(candidate)
        }
        candidates.sort { $0.cost < $1.cost }
        return Choice(plan: candidates.first?.plan ?? .nothing, candidates: candidates)
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

    /// Plans that find what meets one term, among them one that reads all there is.
    private func candidates<T: ReadableTransaction & ~Copyable>(
        for term: Conjunction, atMost maxMatches: Double? = nil, _ transaction: borrowing T
    ) throws(LarderError) -> [Candidate] {
        if let lookup = lookup(term) { return [lookup] }
        var scans: [IndexScan] = []
        for index in indexes {
            guard let scan = try IndexScan(index, of: collection, for: term, arrangement) else {
                continue
            }
            guard !scan.ranges.isEmpty else { return [Candidate(plan: .nothing, cost: 0)] }
            scans.append(scan)
        }
        let names = NameScan(place, for: term, arrangement)
        if let ideal = ideal(scans, names) { return [ideal] }
        var counted: [(scan: IndexScan, count: Double)] = []
        for scan in scans {
            counted.append((scan, try estimator.entryCount(of: scan, in: transaction)))
        }
        counted.sort { ($0.count, $1.scan.used.count) < ($1.count, $0.scan.used.count) }
        let nameCount = estimator.documentCount(of: names)
        let matches = min(matchCount(term, counted, nameCount), maxMatches ?? .infinity)
        var candidates = counted.map { scan, count in
            let (read, sorted) = work(
                count, matches, scan.delivery, seesToAll: scan.seesToAll)
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
        let (read, sorted) = work(nameCount, matches, names.delivery, seesToAll: names.seesToAll)
        candidates.append(
            Candidate(
                plan: .names(names), cost: PlanCosts.open + read + PlanCosts.sort * sorted,
                matches: matches))
        if let intersection = intersection(counted, term) { candidates.append(intersection) }
        return candidates
    }

    private var collection: CollectionPath? {
        if case .collection(let path) = place { path } else { nil }
    }

    /// A look-up by name, where the term says which names.
    private func lookup(_ term: Conjunction) -> Candidate? {
        var names: Set<DocumentPath>?
        for case .oneOf(let some) in term.names {
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
        let direction = arrangement.nameDirection(in: term)
        return Candidate(
            plan: .lookup(
                direction == true ? paths.reversed() : paths,
                direction == nil ? .none : .complete),
            cost: PlanCosts.lookup * Double(paths.count), matches: Double(paths.count))
    }

    /// A plan that reads exactly the documents wanted, so that no other need be thought of:
    /// everything is seen to, and with a limit the order is right.
    private func ideal(_ scans: [IndexScan], _ names: NameScan) -> Candidate? {
        guard let limit = arrangement.limit.map(Double.init) else { return nil }
        if names.seesToAll, names.delivery.isComplete {
            return Candidate(
                plan: .names(names), cost: PlanCosts.open + limit, matches: limit)
        }
        guard let scan = scans.first(where: { $0.seesToAll && $0.delivery.isComplete }) else {
            return nil
        }
        return Candidate(
            plan: .index(scan),
            cost: PlanCosts.open + (PlanCosts.entry + PlanCosts.lookup) * limit, matches: limit)
    }

    /// The documents that are thought to match a term.
    private func matchCount(
        _ term: Conjunction, _ counted: [(scan: IndexScan, count: Double)], _ nameCount: Double
    ) -> Double {
        if let whole = counted.first(where: { $0.scan.seesToAll }) { return whole.count }
        let least = min(counted.first?.count ?? nameCount, nameCount)
        return term.count == 0 && term.isWhole ? least : least / PlanCosts.guessedSelectivity
    }

    /// The documents that a scan reads, and those that are put in order afterwards.
    private func work(
        _ count: Double, _ matches: Double, _ delivery: Delivery, seesToAll: Bool
    ) -> (read: Double, sorted: Double) {
        guard let limit = arrangement.limit.map(Double.init) else {
            return (count, delivery.isComplete ? 0 : min(matches, count))
        }
        let wanted = min(limit, matches)
        guard delivery.orderCount > 0 || delivery.lacksNameOnly || delivery.isComplete else {
            return (count, wanted)
        }
        let read = seesToAll ? wanted : wanted * count / max(matches, 1)
        // What is alike in the orders given is read to its end.
        return (min(count, delivery.isComplete ? read : read + 1), delivery.isComplete ? 0 : wanted)
    }

    /// The intersection of the scans that leave the least, where that is cheaper than the least
    /// of them alone.
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
        let order = QueryPlan.SetOrder(place, arrangement.nameDirection(in: term))
        let cost =
            Double(chosen.count) * PlanCosts.open
            + members * (PlanCosts.setMember + PlanCosts.entry) + left * PlanCosts.lookup
            + (order.delivery.isComplete ? 0 : left * PlanCosts.sort)
        return Candidate(plan: .intersection(chosen, order), cost: cost, matches: left)
    }

    // MARK: Documents that are known

    /// A plan that begins with the documents of a target, where nothing else need be looked at
    /// but what has changed since: not with a limit, behind which others wait.
    private func candidate<T: ReadableTransaction & ~Copyable>(
        from target: TargetDocuments, _ user: UserID, _ transaction: borrowing T
    ) throws(LarderError) -> Candidate? {
        guard let collection, arrangement.limit == nil, target.limboFreeVersion != .none else {
            return nil
        }
        let order = QueryPlan.SetOrder(
            place, arrangement.nameDirection(in: disjunction.common))
        let plan = QueryPlan.target(target, collection, user, order)
        let known = Double(try transaction.documentCount(ofTarget: target.id))
        let changed = try estimator.changeCount(
            after: target.limboFreeVersion, in: collection, transaction)
        let count = known + changed
        return Candidate(
            plan: plan,
            cost: 3 * PlanCosts.open + count * (PlanCosts.lookup + PlanCosts.setMember)
                + (order.delivery.isComplete ? 0 : count * PlanCosts.sort))
    }

    // MARK: Several terms

    /// The best plan for each term, joined; nil when one of them reads all there is.
    private func union<T: ReadableTransaction & ~Copyable>(
        _ terms: [Conjunction], _ transaction: borrowing T
    ) throws(LarderError) -> Candidate? {
        var parts: [Candidate] = []
        for term in terms {
            let candidates = try candidates(for: term, transaction)
            guard let best = candidates.min(by: { $0.cost < $1.cost }) else { return nil }
            switch best.plan {
            case .nothing: continue
            case .names(let scan) where scan.isUnbounded: return nil
            default: parts.append(best)
            }
        }
        guard parts.count > 1 else { return parts.first ?? Candidate(plan: .nothing, cost: 0) }
        let plans = parts.map(\.plan)
        let cost = parts.reduce(0) { $0 + $1.cost }
        let matches = parts.reduce(0) { $0 + $1.matches }
        let isOrdered = plans.allSatisfy {
            $0.delivery.isComplete || $0.delivery.orderCount > 0 || $0.delivery.lacksNameOnly
        }
        if arrangement.limit != nil, isOrdered {
            return Candidate(plan: .merge(plans, .none), cost: cost, matches: matches)
        }
        let order = QueryPlan.SetOrder(place, arrangement.nameDirection(in: Conjunction()))
        return Candidate(plan: .union(plans, order), cost: cost * 1.1, matches: matches)
    }
}
