import ArgumentParser
import LarderServer

/// The limits of the server.
struct LimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "In-flight requests are limited to this total; further requests wait.",
            valueName: "MiB"))
    var requestMemory = 256

    @Option(
        help: ArgumentHelp(
            "The number of open databases; beyond it, one on disk that was unused for ten minutes "
                + "is closed for another.",
            valueName: "count"))
    var databases = 100

    func validate() throws {
        guard (16...1 << 20).contains(requestMemory) else {
            throw ValidationError("--request-memory must be between 16 and 1048576.")
        }
        guard (1...100_000).contains(databases) else {
            throw ValidationError("--databases must be between 1 and 100000.")
        }
    }

    func apply(to limits: inout ServerConfiguration.Limits) {
        limits.heldRequestBytes = requestMemory << 20
        limits.databases = databases
    }
}
