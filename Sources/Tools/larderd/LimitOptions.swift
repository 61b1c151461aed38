import ArgumentParser
import LarderServer

/// The limits of the server.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The memory that requests and unread responses of clients may occupy; beyond it, calls "
                + "of the client that occupies the most fail.",
            valueName: "MiB"))
    var memoryLimit = 256

    @Option(
        help: ArgumentHelp(
            "The number of open databases; beyond it, one on disk that was unused for ten minutes, "
                + "or one without documents, is closed for another.",
            valueName: "count"))
    var databases = 100

    @Option(
        help: ArgumentHelp("The number of connections.", valueName: "count"))
    var connections = 10_000

    @Option(
        help: ArgumentHelp("The number of connections from one address.", valueName: "count"))
    var connectionsPerAddress = 5_000

    func validate() throws {
        guard connections > 0, connectionsPerAddress > 0 else {
            throw ValidationError(
                "--connections and --connections-per-address must be positive.")
        }
        guard (64...1 << 20).contains(memoryLimit) else {
            throw ValidationError("--memory-limit must be between 64 and 1048576.")
        }
        guard (1...100_000).contains(databases) else {
            throw ValidationError("--databases must be between 1 and 100000.")
        }
    }

    func apply(to limits: inout ServerConfiguration.Limits) {
        limits.memoryBytes = memoryLimit << 20
        limits.databases = databases
        limits.connections = connections
        limits.connectionsPerAddress = connectionsPerAddress
    }
}
