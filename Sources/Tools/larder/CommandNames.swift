import ArgumentParser

/// The names of the tool's commands.
enum CommandNames {
    private static let all =
        LarderTool.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]

    /// The error for a command line that begins with a word that is not a command; nil for others.
    static func unknown(_ arguments: [String]) -> ValidationError? {
        guard let word = arguments.first, !word.hasPrefix("-"), !all.contains(word) else {
            return nil
        }
        let similar = all.map { (name: $0, distance: distance($0, word)) }
            .filter { $0.distance <= 2 && $0.distance < $0.name.count }
            .min { $0.distance < $1.distance }
        let advice = similar.map { " Did you mean '\($0.name)'?" } ?? ""
        return ValidationError("Unknown command '\(word)'.\(advice)")
    }

    /// The number of letters to insert, remove or replace to make one word of the other.
    private static func distance(_ a: String, _ b: String) -> Int {
        var row = Array(0...b.count)
        for (i, letter) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in b.enumerated() {
                let cost = diagonal + (letter == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(cost, row[j] + 1, row[j + 1] + 1)
            }
        }
        return row[b.count]
    }
}
