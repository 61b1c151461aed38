import ArgumentParser
import Foundation
import LarderHTTP
import LarderModel
import LarderRealtimeRules
import LarderRealtimeServer

/// The security rules of Realtime Databases.
struct RulesOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Security rules of Realtime Databases (JSON): of all, or of one after its name, as in "
                + "demo=rules.json. Repeatable. Without rules everything is allowed; with a token, or "
                + "at an address that other machines reach, nothing but to administrators.",
            valueName: "file"))
    var rules: [String] = []

    /// Reads and compiles the rules.
    func read() throws(LarderError) -> ConfiguredRules {
        var configured = ConfiguredRules()
        for argument in rules {
            let parts = argument.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let rules = try Self.read(String(parts.count > 1 ? parts[1] : parts[0]))
            if parts.count > 1 {
                configured.byNamespace[String(parts[0])] = rules
            } else {
                configured.common = rules
            }
        }
        return configured
    }

    private static func read(_ path: String) throws(LarderError) -> SecurityRules {
        let text = try SettingsFile.readText(path)
        do throws(LarderError) {
            return try SecurityRules(text)
        } catch {
            throw LarderError(.invalidArgument, "'\(path)': \(error.message)", cause: error)
        }
    }
}
