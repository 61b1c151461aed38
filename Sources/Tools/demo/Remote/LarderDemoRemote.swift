import ArgumentParser
import LarderDemo
import LarderGRPC

/// The demo with a server, run by `make demo`.
@main
struct LarderDemoRemote: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder-demo-remote",
        abstract: "Clients and a server lose their networks and their processes.",
        subcommands: [Documents.self, Presence.self])
}

/// The story of documents.
struct Documents: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: StoryArguments.abstract)

    @OptionGroup var story: StoryArguments

    @Option(help: "The server's port on this machine.")
    var port: Int

    func run() async throws {
        var server = CloudFirestoreConfiguration(project: Story.project)
        server.useEmulator(withHost: "127.0.0.1", port: port)
        let cloud = try CloudFirestore(server)
        try await story.tell(with: cloud.connection)
        await cloud.close()
    }
}
