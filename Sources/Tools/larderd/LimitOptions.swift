import ArgumentParser
import LarderServer

/// What the server bears.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How much of requests is held at a time; what is more waits.",
            valueName: "MiB"))
    var requestMemory = 256

    @Option(
        help: ArgumentHelp(
            "How many databases are open at a time; one on disk that nobody has used for ten "
                + "minutes makes room for another.",
            valueName: "count"))
    var databases = 100

    func validate() throws {
        guard (16...1 << 20).contains(requestMemory) else {
            throw ValidationError("--request-memory is from 16 to 1048576.")
        }
        guard (1...100_000).contains(databases) else {
            throw ValidationError("--databases is from 1 to 100000.")
        }
    }

    /// Makes them the limits of a server.
    func apply(to limits: inout ServerConfiguration.Limits) {
        limits.heldRequestBytes = requestMemory << 20
        limits.databases = databases
    }
}
