import ArgumentParser
import LarderBackend
import LarderDemo

/// The demo with backends in the process, run by `make run`.
@main
struct LarderDemoLocal: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder-demo", abstract: "Databases lose their network and their process.",
        subcommands: [Documents.self, Tree.self])
}

/// The story of documents.
struct Documents: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: StoryArguments.abstract)

    @OptionGroup var story: StoryArguments

    @Option(help: "The directory of the backend.")
    var backend: String

    func run() async throws {
        let backend = try Backend(
            BackendConfiguration(project: Story.project, location: .directory(backend)))
        try await story.tell(with: backend.connection)
        try await backend.close()
    }
}
