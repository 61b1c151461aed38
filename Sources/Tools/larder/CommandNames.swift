import ArgumentParser
import LarderCore

/// The names of the tool's commands.
enum CommandNames {
    private static let all =
        LarderTool.configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]

    /// The error for a command line that begins with a word that is not a command; nil for others.
    static func unknown(_ arguments: [String]) -> ValidationError? {
        guard let word = arguments.first, !word.hasPrefix("-"), !all.contains(word) else {
            return nil
        }
        let similar = all.map { (name: $0, distance: $0.editDistance(to: word)) }
            .filter { $0.distance <= 2 && $0.distance < $0.name.count }
            .min { $0.distance < $1.distance }
        let advice = similar.map { " Did you mean '\($0.name)'?" } ?? ""
        return ValidationError("Unknown command '\(word)'.\(advice)")
    }
}
