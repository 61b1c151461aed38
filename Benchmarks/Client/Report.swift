/// Collects figures, prints them, and judges them by the limits.
final class Report {
    struct Entry {
        let row: Row
        let count: Int
        var series: [System: Series] = [:]
    }

    /// One limit and what was reached.
    struct Verdict {
        let entry: Entry
        let limit: String
        let reached: Double
        /// The same by processor time, where wall-clock time decides.
        let processor: Double?
        let isReached: Bool
    }

    private(set) var entries: [Entry] = []

    /// Adds a round's figure in seconds, of one of what the row counts.
    func add(_ row: Row, count: Int, _ system: System, _ seconds: Elapsed) {
        if !entries.contains(where: { $0.row.id == row.id && $0.count == count }) {
            entries.append(Entry(row: row, count: count))
        }
        for index in entries.indices
        where entries[index].row.id == row.id && entries[index].count == count {
            entries[index].series[system, default: Series()].add(seconds * row.unit.scale)
        }
    }

    /// What a row's round was, to compare another row's with.
    func series(_ id: String, count: Int, _ system: System) -> Series? {
        entries.first { $0.row.id == id && $0.count == count }?.series[system]
    }

    // MARK: Judging

    /// Of each row at the largest number of documents; smaller ones are there for growth.
    var verdicts: [Verdict] {
        entries.filter { entry in
            !entries.contains { $0.row.id == entry.row.id && $0.count > entry.count }
        }.flatMap { entry in
            entry.row.limits.compactMap { Self.judge(entry, $0) }
                + [judgeGrowth(entry)].compactMap(\.self)
        }
    }

    private static func judge(_ entry: Entry, _ limit: Row.Limit) -> Verdict? {
        guard let larder = entry.series[.larder] else { return nil }
        switch limit {
        case .atMost(let most, let other, let quantity):
            guard let peer = entry.series[other],
                let ratio = larder.ratio(to: peer, quantity)?.median
            else { return nil }
            return Verdict(
                entry: entry, limit: "at most \(Number(most)) x \(name(other, entry, quantity))",
                reached: ratio, processor: larder.ratio(to: peer, .processor)?.median,
                isReached: ratio <= most)
        case .atLeast(let least, let other, let quantity):
            guard let peer = entry.series[other],
                let ratio = peer.ratio(to: larder, quantity)?.median
            else { return nil }
            return Verdict(
                entry: entry,
                limit: "at least \(Number(least)) x as fast as \(name(other, entry, quantity))",
                reached: ratio, processor: peer.ratio(to: larder, .processor)?.median,
                isReached: ratio >= least)
        case .value(let most, let quantity):
            guard let value = larder.summary(quantity)?.median else { return nil }
            let kind = quantity == .processor ? " of processor time" : ""
            return Verdict(
                entry: entry, limit: "at most \(Number(most)) \(entry.row.unit.rawValue)\(kind)",
                reached: value, processor: nil, isReached: value <= most)
        }
    }

    private static func name(_ system: System, _ entry: Entry, _ quantity: Row.Quantity) -> String {
        let name = system == .reference ? entry.row.reference : system.label
        return quantity == .processor ? name + ", by processor time" : name
    }

    /// The largest number of documents against the smallest, in the row of the largest.
    private func judgeGrowth(_ entry: Entry) -> Verdict? {
        let same = entries.filter { $0.row.id == entry.row.id }
        guard entry.row.isIndependentOfCount, let first = same.first, same.count > 1,
            same.last?.count == entry.count,
            let small = first.series[.larder]?.summary(.processor)?.median,
            let large = entry.series[.larder]?.summary(.processor)?.median, small > 0
        else { return nil }
        return Verdict(
            entry: entry, limit: "at most 1.5 x the same at N = \(first.count)",
            reached: large / small, processor: nil, isReached: large / small <= 1.5)
    }
}
