import ArgumentParser
package import Larder

/// What every program that tells the story is asked for.
package struct StoryArguments: ParsableArguments {
    /// What such a program says of itself.
    package static let abstract =
        "Tells a chapter of a database that loses its network and its process."

    @Argument(help: "The chapter to tell, in this order.")
    private var chapter: Story.Chapter

    @Option(help: "The directory of the cache.")
    private var cache: String

    @Option(help: "Cities, a JSON object a line.")
    private var cities: String

    package init() {}

    /// Tells the chapter.
    ///
    /// - Parameter connection: the backend.
    package func tell(with connection: RemoteConnection) async throws {
        try await Story(directory: cache, connection: connection).tell(chapter, citiesIn: cities)
    }
}

extension Story.Chapter: ExpressibleByArgument {}
