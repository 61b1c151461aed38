import Larder

/// How a query was answered, for people and for programs.
struct ExplanationText {
    /// What is told.
    let explanation: QueryExplanation

    /// The explanation for people.
    var lines: [String] {
        var table = TextTable([("", .left), ("", .left)])
        func add(_ title: String, _ texts: [String]) {
            for (position, text) in texts.enumerated() {
                table.add(position == 0 ? title : "", text)
            }
        }
        add("plan", explanation.plan.split(separator: "\n").map(String.init))
        add("indexes", explanation.indexes.isEmpty ? ["none"] : explanation.indexes)
        add(
            "considered",
            explanation.alternatives.map { alternative in
                let plan = alternative.plan.split(separator: "\n").map { String($0).trimmingSpaces }
                return "cost \(NumberText.fixed(alternative.cost, digits: 1)): "
                    + plan.joined(separator: "; ") + (alternative.isChosen ? " (chosen)" : "")
            })
        add(
            "scanned",
            [
                "\(NumberText.things(Int64(explanation.documentsScanned), "document")), "
                    + NumberText.things(
                        Int64(explanation.indexEntriesScanned), "index entry", "index entries")
                    + ", \(ByteSize(explanation.bytesRead).text)"
            ])
        add("returned", [NumberText.things(Int64(explanation.documentsReturned), "document")])
        add("time", [NumberText.duration(seconds: Double(explanation.microseconds) / 1e6)])
        return table.lines
    }

    /// The explanation for programs.
    var report: JSONReport {
        [
            "kind": .string(explanation.kind),
            "plan": .string(explanation.plan),
            "indexes": .array(explanation.indexes.map { .string($0) }),
            "alternatives": .array(
                explanation.alternatives.map { alternative in
                    [
                        "plan": .string(alternative.plan),
                        "cost": .rounded(alternative.cost),
                        "isChosen": .boolean(alternative.isChosen),
                    ]
                }),
            "documentsScanned": .integer(explanation.documentsScanned),
            "documentsReturned": .integer(explanation.documentsReturned),
            "indexEntriesScanned": .integer(explanation.indexEntriesScanned),
            "bytesRead": .integer(explanation.bytesRead),
            "microseconds": .integer(explanation.microseconds),
        ]
    }
}
