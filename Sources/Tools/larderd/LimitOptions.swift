import ArgumentParser
import LarderHTTP
import LarderServer

/// The limits of the server.
struct LimitOptions: ParsableArguments {
    /// The kinds of databases: Firestore's and Realtime Databases.
    private static let kinds = 2

    @Option(
        help: ArgumentHelp(
            "The memory that requests and unread responses of clients may occupy; beyond it, calls "
                + "of the client that occupies the most fail.",
            valueName: "MiB"))
    var memoryLimit = 256

    @Option(
        help: ArgumentHelp(
            "The size of a document, as Firestore counts it; Firestore's Enterprise edition accepts "
                + "16777216 (16 MiB).",
            valueName: "bytes"))
    var maxDocumentBytes = 1_048_576

    @Option(
        help: ArgumentHelp(
            "The number of open databases of each kind; beyond it, one on disk that was unused for "
                + "ten minutes, or one without documents, is closed for another. By default 100, "
                + "or as many as half of the open files are for.",
            valueName: "count"))
    var databases: Int?

    @Option(
        help: ArgumentHelp(
            "The number of open databases that clients of one address have opened; by default "
                + "three quarters of --databases.",
            valueName: "count"))
    var databasesPerAddress: Int?

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
        guard (1_024...16 << 20).contains(maxDocumentBytes) else {
            throw ValidationError("--max-document-bytes must be between 1024 and 16777216.")
        }
        guard databases.map({ (1...100_000).contains($0) }) ?? true else {
            throw ValidationError("--databases must be between 1 and 100000.")
        }
        guard databasesPerAddress.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--databases-per-address must be positive.")
        }
    }

    /// Sets the limits; call it once the limit of open files is raised.
    func apply(to limits: inout ServerConfiguration.Limits) {
        limits.memoryBytes = memoryLimit << 20
        limits.documentBytes = maxDocumentBytes
        let databases = databases ?? DatabaseCapacity.defaultCount(kinds: Self.kinds)
        limits.databases = databases
        limits.databasesPerAddress = databasesPerAddress ?? max(databases * 3 / 4, 1)
        limits.connections = connections
        limits.connectionsPerAddress = connectionsPerAddress
    }
}
