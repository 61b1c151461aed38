import Foundation
import LarderRealtime
import LarderRealtimeBackend
import Testing

@testable import LarderTool

/// A folder with stores of Realtime Databases that the tool works on.
struct RealtimeToolFolder {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Runs a command of `larder rtdb` on the folder's store.
    func run(_ arguments: String..., input: String = "") throws -> ToolResult {
        try Tool.run(["rtdb"] + arguments + ["--store", folder.store], in: folder, input: input)
    }

    /// Runs a command that must succeed without messages.
    ///
    /// - Returns: the output.
    @discardableResult
    func output(
        _ arguments: String..., input: String = "", location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try Tool.run(
            ["rtdb"] + arguments + ["--store", folder.store], in: folder, input: input)
        #expect(
            result.status == 0 && result.messages == "", "\(arguments): \(result)",
            sourceLocation: location)
        return result.output
    }

    /// Expects that the store and its backend have no damage.
    func expectNoProblems(location: SourceLocation = #_sourceLocation) throws {
        for store in [folder.store, folder.store + "/backend"]
        where FileManager.default.fileExists(atPath: store) {
            let result = try Tool.run(["check", "--store", store], in: folder)
            #expect(result.status == 0, "\(result)", sourceLocation: location)
        }
    }

    // MARK: Stores

    /// The scores of the dinosaurs.
    static let scores =
        #"{"bruhathkayosaurus":55,"lambeosaurus":21,"linhenykus":80,"pterodactyl":93,"#
        + #""stegosaurus":5,"triceratops":22}"#

    /// Imports the scores into a store with a backend.
    func importScores() throws {
        try output("import", "-", "scores", input: Self.scores)
    }

    /// Opens the store as an application does.
    func open(_ backend: RealtimeBackend? = nil) throws -> Database {
        var configuration = DatabaseConfiguration(directory: folder.store)
        configuration.backend = backend?.connection
        configuration.callbackQueue = DispatchQueue(label: "larder.test")
        return try Database(configuration: configuration)
    }

    /// Makes a store as an application leaves it that has observed the best scores of a backend,
    /// which the tool does not have.
    func cacheBestScores(_ count: UInt) async throws {
        let backend = RealtimeBackend()
        var configuration = DatabaseConfiguration.inMemory
        configuration.backend = backend.connection
        let other = try Database(configuration: configuration)
        try await other.reference(withPath: "scores").setValue(
            try JSONSerialization.jsonObject(with: Data(Self.scores.utf8)))
        try await other.close()

        let database = try open(backend)
        let best = database.reference(withPath: "scores").queryOrderedByValue()
            .queryLimited(toLast: count)
        _ = await best.observeSingleEvent(of: .value)
        try await database.close()
        try await backend.close()
    }
}
