import ArgumentParser
import LarderRealtimeServer

/// The signed tokens of users of Realtime Databases.
struct AuthOptions: ParsableArguments {
    @Option(
        name: .customLong("auth-keys"),
        help: ArgumentHelp(
            "Public keys that sign tokens of Realtime Databases' users: a JWK set, PEM, or Google's "
                + "JSON of certificates. Repeatable; read again when changed. Unsigned tokens are "
                + "refused then.",
            valueName: "file"))
    var authKeys: [String] = []

    @Option(
        help: ArgumentHelp(
            "The Firebase project whose tokens are accepted, when Google's keys are among --auth-keys.",
            valueName: "id"))
    var authProject: String?

    func validate() throws {
        guard authProject == nil || !authKeys.isEmpty else {
            throw ValidationError("--auth-project needs --auth-keys.")
        }
        guard authProject?.isEmpty != true else {
            throw ValidationError("--auth-project is empty.")
        }
    }

    /// Reads the keys.
    func apply(to configuration: inout RealtimeServerConfiguration) async throws {
        guard !authKeys.isEmpty else { return }
        configuration.authKeys = try await AuthKeys(files: authKeys, project: authProject)
    }
}
