import ArgumentParser
import Foundation
import Larder
import LarderModel

/// `larder bundle`: bundles of documents and queries.
struct BundleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bundle",
        abstract: "Loads bundles of documents and named queries.",
        subcommands: [BundleLoadCommand.self])
}

/// `larder bundle load`: loads a bundle into the store.
struct BundleLoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Loads a bundle into the store.",
        discussion: """
            Adds its documents to the cache, except those of which the cache has a newer \
            version, and its named queries. A bundle that was loaded before, in this or a newer \
            version, is not loaded again. --project and --database must name the database of the \
            bundle. Documents that precede an error in a malformed bundle are kept.

            EXAMPLES
              larder bundle load cities.bundle --project shop
              curl https://example.com/cities.bundle | larder bundle load - --project shop
            """)

    @Argument(help: "The bundle file; - reads standard input.")
    var file: String

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let output = Output.standard()
        let descriptor = try InputText.open(file)
        defer { System.close(descriptor) }
        if System.exists(options.directory + "/data.mdb"),
            try options.options.kind().role == .backend
        {
            throw ToolError(
                .configuration, "the store '\(options.directory)' is the store of a backend",
                hint: "bundles are loaded into the caches of clients")
        }
        let progress = try await options.withDatabase(.readWrite, createsStore: true) {
            try await load(descriptor, into: $0)
        }
        if options.json {
            output.line([
                "documentCount": .integer(progress.documentsLoaded),
                "sizeBytes": .integer(progress.bytesLoaded),
            ])
        } else {
            let documents = NumberText.count(progress.documentsLoaded)
            output.line(
                "loaded \(documents) documents, \(ByteSize(Int64(progress.bytesLoaded)).text)")
        }
        try output.flush()
    }

    private func load(
        _ descriptor: Int32, into firestore: Firestore
    ) async throws -> LoadBundleTaskProgress {
        guard let stream = InputStream(fileAtPath: "/dev/fd/\(descriptor)") else {
            throw ToolError(.noInput, "cannot read '\(file)'")
        }
        var bar = ProgressBar("loading", unit: .bytes)
        defer { bar.finish() }
        let parts = AsyncThrowingStream<LoadBundleTaskProgress, any Error> { parts in
            // A small bundle may be loaded before an observer can be added to the task.
            let task = firestore.loadBundle(stream) { progress, error in
                if let progress { parts.yield(progress) }
                parts.finish(throwing: error)
            }
            task.addObserver { parts.yield($0) }
        }
        var last: LoadBundleTaskProgress?
        do {
            for try await progress in parts {
                last = progress
                bar.update(Int64(progress.bytesLoaded), of: Int64(progress.totalBytes))
            }
        } catch let error as LarderError
            where [.invalidArgument, .unknown].contains(error.kind)
        {
            // Unknown is what a bundle of nothing is.
            throw ToolError(
                .badData, "'\(file)': \(error.message)",
                hint: "it must be complete, and of the database in --project and --database")
        }
        guard let last else { throw ToolError(.badData, "'\(file)' was not loaded") }
        return last
    }
}
