import Foundation

extension Report {
    /// Prints a row with every system's figures.
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
        fflush(nil)
    }

    /// Prints every limit with what was reached.
    ///
    /// - Returns: how many were missed.
    func printSummary() -> Int {
        let verdicts = verdicts
        print("\nReach and limit (medians of the rounds' ratios; in brackets by processor time)\n")
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
        print("\n\(verdicts.count - missed) reached, \(missed) missed")
        fflush(nil)
        return missed
    }

    /// Writes everything for programs.
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
