import ArgumentParser
import LarderRealtimeRules

/// `larder rtdb rules`: security rules.
struct RealtimeRulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules",
        abstract: "Checks security rules of Realtime Databases.",
        subcommands: [RealtimeRulesCheckCommand.self])
}

/// `larder rtdb rules check`: the problems of a rules file.
struct RealtimeRulesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Lists the problems of a security rules file.",
        discussion: """
            The file is JSON with comments: an object 'rules' that mirrors the tree, with .read, \
            .write, .validate and .indexOn. Their expressions are compiled, with all types checked.

            Prints one line per problem: file, line, column, rule, description. Exit status 1 if \
            there are any. With --json, prints one object: problemCount, and problems with line, \
            column, rule and message. No store is opened.

            EXAMPLES
              larder rtdb rules check database.rules.json
              larder rtdb rules check - --json < database.rules.json | jq .problemCount
            """)

    @Argument(help: ArgumentHelp("The rules file; - is standard input.", valueName: "file"))
    var file: String

    @Flag(help: "Print JSON.")
    var json = false

    /// More is refused by the rules as well.
    private static let maxInputBytes = 16 << 20

    func run() throws {
        let bytes = try InputText.read(file, maxBytes: Self.maxInputBytes)
        let name = file == "-" ? "standard input" : file
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ToolError(.badData, "\(name) is not UTF-8")
        }
        let problems = SecurityRules.problems(in: text)
        let output = Output.standard()
        if json {
            output.line(Self.report(problems))
        } else {
            for problem in problems {
                let rule = problem.rule.isEmpty ? "" : problem.rule + ": "
                output.line("\(name):\(problem.line):\(problem.column): \(rule)\(problem.message)")
            }
            if problems.isEmpty { output.line("no problems: \(name)") }
        }
        try output.flush()
        if !problems.isEmpty { throw ExitCode(ExitStatus.findings.rawValue) }
    }

    private static func report(_ problems: [RulesProblem]) -> JSONReport {
        [
            "problemCount": .integer(Int64(problems.count)),
            "problems": .array(
                problems.map { problem in
                    [
                        "line": .integer(Int64(problem.line)),
                        "column": .integer(Int64(problem.column)),
                        "rule": .string(problem.rule),
                        "message": .string(problem.message),
                    ]
                }),
        ]
    }
}
