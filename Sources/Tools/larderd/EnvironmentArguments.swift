import LarderCore

/// Options from environment variables: `LARDERD_TLS_KEY` is `--tls-key`.
///
/// The command line overrides the environment. Options that exclude each other are overridden
/// together: `--memory` on the command line overrides `LARDERD_DATA`.
enum EnvironmentArguments {
    private enum Kind {
        /// An option with a value.
        case value
        /// An option that may be repeated; its variable has a list separated by commas.
        case list
        /// An option without a value; its variable is `true` or `false`.
        case flag
    }

    private static let prefix = "LARDERD_"

    /// All options, in groups that exclude each other.
    private static let options: [[(name: String, kind: Kind)]] = [
        [("host", .value)], [("port", .value)], [("data", .value), ("memory", .flag)],
        [("tls-certificate", .value)], [("tls-key", .value)],
        [("token", .value), ("token-file", .value)], [("allow-host", .list)],
        [("allow-origin", .list)],
        [("insecure", .flag)], [("rules", .list)], [("auth-keys", .list)],
        [("auth-project", .value)], [("import", .value)], [("export-on-exit", .value)],
        [("memory-limit", .value)], [("max-document-bytes", .value)],
        [("databases", .value)], [("databases-per-address", .value)],
        [("connections", .value)], [("connections-per-address", .value)],
        [("ready-file", .value)], [("log-level", .value)],
    ]

    /// The names of all options, for tests.
    static var names: [String] { options.joined().map(\.name) }

    /// The arguments of the command line after those of the environment.
    static func arguments(
        _ commandLine: [String], _ environment: [String: String]
    ) throws(Malformed) -> [String] {
        var arguments: [String] = []
        for group in options {
            let isOverridden = group.contains { name, _ in
                commandLine.contains { $0 == "--\(name)" || $0.hasPrefix("--\(name)=") }
            }
            guard !isOverridden else { continue }
            for (name, kind) in group {
                let variable = variable(name)
                guard let value = environment[variable] else { continue }
                arguments += try Self.arguments(name, kind, value, variable)
            }
        }
        return arguments + commandLine
    }

    /// The variable of an option.
    static func variable(_ name: String) -> String {
        prefix + name.uppercased().replacing("-", with: "_")
    }

    private static func arguments(
        _ name: String, _ kind: Kind, _ value: String, _ variable: String
    ) throws(Malformed) -> [String] {
        switch kind {
        // In one argument, since a value may begin with a dash; but that cannot be empty.
        case .value: return value.isEmpty ? ["--\(name)", ""] : ["--\(name)=\(value)"]
        case .list: return value.split(separator: ",").map { "--\(name)=\($0)" }
        case .flag:
            switch value.lowercased() {
            case "true", "1", "yes": return ["--\(name)"]
            case "false", "0", "no", "": return []
            default: throw Malformed(variable: variable, value: value)
            }
        }
    }

    /// A variable of a flag with another value than true or false.
    struct Malformed: Error, Equatable, CustomStringConvertible {
        let variable: String
        let value: String

        var description: String { "\(variable) is '\(value)': use true or false." }
    }
}

// MARK: - Misspelt options

extension EnvironmentArguments {
    /// The message about the first argument that is no option, with the option that was probably
    /// meant; nil if there is none.
    ///
    /// It precedes the checks of options with each other, which would speak of one as missing.
    static func misspelling(in arguments: [String]) -> String? {
        let kinds = Dictionary(
            options.joined().map { ($0.name, $0.kind) }, uniquingKeysWith: { first, _ in first })
        var rest = arguments[...]
        while let argument = rest.popFirst(), argument != "--" {
            guard argument.hasPrefix("--") else { continue }
            let name = String(argument.dropFirst(2).prefix { $0 != "=" })
            guard let kind = kinds[name] else {
                if builtIn.contains(name) { continue }
                let nearest = (names + builtIn).map { ($0, $0.editDistance(to: name)) }
                    .min { $0.1 < $1.1 }
                guard let (option, distance) = nearest, distance <= max(2, name.count / 3) else {
                    return "Unknown option '--\(name)'."
                }
                return "Unknown option '--\(name)'. Did you mean '--\(option)'?"
            }
            if kind != .flag, !argument.contains("=") { _ = rest.popFirst() }
        }
        return nil
    }

    /// Options of the argument parser.
    private static let builtIn = [
        "help", "help-hidden", "version", "generate-completion-script", "experimental-dump-help",
    ]
}
