import Foundation
import Measuring

/// Collects measurements, prints them, and compares them with the limits.
final class Report {
    struct Entry {
        let row: Row
        let count: Int
        var series: [System: Series] = [:]
    }

    /// A limit and the value reached.
    struct Verdict {
        let entry: Entry
        let limit: String
        let reached: Double
        /// The value by processor time, if wall-clock time decides.
        let processor: Double?
        let isReached: Bool
    }

    private(set) var entries: [Entry] = []

    /// Adds the time of a round in seconds per unit of the row.
    func add(_ row: Row, count: Int, _ system: System, _ seconds: Elapsed) {
        if !entries.contains(where: { $0.row.id == row.id && $0.count == count }) {
            entries.append(Entry(row: row, count: count))
        }
        for index in entries.indices
        where entries[index].row.id == row.id && entries[index].count == count {
            entries[index].series[system, default: Series()].add(seconds * row.unit.scale)
        }
    }

    /// The measurements of a row, for comparison with another row.
    func series(_ id: String, count: Int, _ system: System) -> Series? {
        entries.first { $0.row.id == id && $0.count == count }?.series[system]
    }

    // MARK: Judging

    /// The verdicts of each row at the largest number of documents; smaller numbers are for
    /// measuring growth.
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

    /// The ratio of the largest to the smallest number of documents.
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

// MARK: - Printing

extension Report {
    /// Prints a row with the results of every system.
    func printRow(_ id: String, count: Int) {
        guard let entry = entries.first(where: { $0.row.id == id && $0.count == count }) else {
            return
        }
        print("\n    \(entry.row.title), N = \(count)")
        for system in System.allCases {
            guard let series = entry.series[system], let wall = series.summary(.wall) else {
                continue
            }
            let name = system == .reference ? entry.row.reference : system.label
            var line =
                "        " + name.padded(34) + Number(wall.median).description.leftPadded(10)
                + " \(entry.row.unit.rawValue)   (\(Number(wall.least)) .. \(Number(wall.most)))"
            if entry.row.unit.isTime, let busy = series.summary(.processor) {
                line += "   processor \(Number(busy.median))"
            }
            print(line)
        }
        flushOutput()
    }

    /// Prints every limit with the value reached.
    ///
    /// - Returns: the number of missed limits.
    func printSummary() -> Int {
        let verdicts = verdicts
        print(
            "\nLimits and values (medians of the rounds' ratios; in brackets by processor time)\n")
        print(
            "    " + "operation".padded(58) + "N".leftPadded(8) + "Larder".leftPadded(10)
                + "floor".leftPadded(10) + "GRDB".leftPadded(10) + "  " + "unit".padded(7)
                + "reached".leftPadded(8) + "          limit")
        for verdict in verdicts {
            let entry = verdict.entry
            func figure(_ system: System) -> String {
                (entry.series[system]?.summary(.wall)).map { Number($0.median).description } ?? "-"
            }
            let busy = verdict.processor.map { "(\(Number($0)))" } ?? ""
            print(
                "    " + entry.row.title.padded(58) + String(entry.count).leftPadded(8)
                    + figure(.larder).leftPadded(10) + figure(.floor).leftPadded(10)
                    + figure(.grdb).leftPadded(10) + "  " + entry.row.unit.rawValue.padded(7)
                    + Number(verdict.reached).description.leftPadded(8) + " " + busy.padded(9)
                    + verdict.limit + ": " + (verdict.isReached ? "reached" : "MISSED"))
        }
        let missed = verdicts.count { !$0.isReached }
        printTally(reached: verdicts.count - missed, missed: missed)
        return missed
    }

    /// Writes all results as JSON.
    func writeJSON(to path: String, machine: [(name: String, text: String)]) throws {
        let rows = entries.map { entry in
            var row: [String: Any] = [
                "id": entry.row.id, "title": entry.row.title, "n": entry.count,
                "unit": entry.row.unit.rawValue,
            ]
            for (system, series) in entry.series {
                row[system.rawValue] = Self.json(series.summary(.wall))
                row[system.rawValue + "_processor"] = Self.json(series.summary(.processor))
            }
            row["limits"] = verdicts.filter {
                $0.entry.row.id == entry.row.id && $0.entry.count == entry.count
            }.map { verdict in
                ["limit": verdict.limit, "reached": verdict.reached, "met": verdict.isReached]
                    as [String: Any]
            }
            return row
        }
        let facts = Dictionary(machine.map { ($0.name, $0.text) }) { first, _ in first }
        let data = try JSONSerialization.data(
            withJSONObject: ["machine": facts, "rows": rows],
            options: [.prettyPrinted, .sortedKeys])
        try data.write(to: URL(filePath: path))
    }

    private static func json(_ summary: Summary?) -> [String: Double] {
        guard let summary else { return [:] }
        return ["median": summary.median, "min": summary.least, "max": summary.most]
    }
}

/// A row of the report: an operation at a number of documents.
struct Row {
    /// The quantity that a limit applies to.
    enum Quantity {
        case wall, processor
    }

    enum Limit {
        /// Larder takes at most this many times as long as another system.
        case atMost(Double, times: System, Quantity = .wall)
        /// Larder is at least this many times as fast as another system.
        case atLeast(Double, timesAsFastAs: System, Quantity = .wall)
        /// An absolute limit for Larder.
        case value(Double, Quantity = .wall)
    }

    enum Unit: String {
        case microseconds = "us"
        case milliseconds = "ms"
        case bytes = "bytes"
        case times = "times"

        /// The number of units per second; 1 for units other than times.
        var scale: Double {
            switch self {
            case .microseconds: 1e6
            case .milliseconds: 1e3
            case .bytes, .times: 1
            }
        }

        var isTime: Bool { scale > 1 }
    }

    /// The ID for programs; its first part names the operation.
    let id: String
    let title: String
    let unit: Unit
    let limits: [Limit]
    /// The description of the reference, if any.
    var reference = ""
    /// Whether the result must not grow with the number of documents.
    var isIndependentOfCount = false
}

/// The results of one system in one row, one per round.
struct Series {
    private(set) var rounds: [Elapsed] = []

    mutating func add(_ figure: Elapsed) { rounds.append(figure) }

    func figures(_ quantity: Row.Quantity) -> [Double] {
        rounds.map { quantity == .wall ? $0.wall : $0.processor }
    }

    func summary(_ quantity: Row.Quantity) -> Summary? { summary(of: figures(quantity)) }

    /// The ratio to another series, round by round: variations of the machine affect both.
    func ratio(to other: Series, _ quantity: Row.Quantity) -> Summary? {
        let pairs = zip(figures(quantity), other.figures(quantity))
        return summary(of: pairs.filter { $0.1 > 0 }.map { $0.0 / $0.1 })
    }

    private func summary(of figures: [Double]) -> Summary? {
        figures.isEmpty ? nil : Summary(figures)
    }
}

/// The measured system.
enum System: String, CaseIterable {
    case larder, floor, grdb
    /// Larder's reference measurement of the row: another operation, or the same with less work.
    case reference

    var label: String {
        switch self {
        case .larder: "Larder"
        case .floor: "floor"
        case .grdb: "GRDB"
        case .reference: "reference"
        }
    }
}
