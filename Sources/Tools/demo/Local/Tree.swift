import ArgumentParser
import LarderDemo
import LarderRealtime
import LarderRealtimeBackend

/// The story of a Realtime Database.
struct Tree: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs a chapter of a Realtime Database that is offline and returns.")

    /// The chapters, in order.
    enum Chapter: String, CaseIterable, ExpressibleByArgument {
        /// Observes the four best scores with a network.
        case load
        /// Answers queries without a network, which then returns.
        case comeBack = "return"
        /// Shows who is online.
        case presence
    }

    @Argument(help: "The chapter to run.")
    var chapter: Chapter

    @Option(help: "The directory of the cache.")
    var cache: String

    @Option(help: "The directory of the backend.")
    var backend: String

    func run() async throws {
        let backend = try RealtimeBackend(directory: backend)
        switch chapter {
        case .load: try await scores(backend).load()
        case .comeBack: try await scores(backend).comeBack()
        case .presence: try await PresenceStory(backend: backend).tell()
        }
        try await backend.close()
    }

    private func scores(_ backend: RealtimeBackend) -> ScoresStory {
        ScoresStory(directory: cache, connection: backend.connection)
    }
}
