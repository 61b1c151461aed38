import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderTestSupport
import SimulationSupport

/// The backend of a world, on a process of its own.
final class SimulatedBackend: @unchecked Sendable {
    // One thread runs a world.

    let rules = RuleBook()
    private let process: Process
    private let configuration: BackendConfiguration
    private var backend: Backend

    /// A backend without documents, with its store in a directory.
    init(
        databaseID: DatabaseID, directory: String, events: EventQueue, chance: Chance
    ) throws(LarderError) {
        process = Process(events: events, chance: chance.fork())
        var configuration = BackendConfiguration(
            project: databaseID.project, location: .directory(directory))
        configuration.durability = .lastCommitAtRisk
        configuration.clock = { events.clock.timestamp }
        let identity = UInt64(chance.below(.max))
        configuration.makeIdentity = { identity }
        configuration.rules = { [rules] in rules.decide($0) }
        configuration.enqueue = { [process] in process.run($0) }
        self.configuration = configuration
        backend = try Backend(configuration)
    }

    /// Closes the backend and opens it again.
    func restart() throws(LarderError) {
        close()
        backend = try Backend(configuration)
    }

    /// The backend without any network.
    var remote: any Remote { backend }

    /// Runs everything that has arrived.
    func settle() {
        process.settle()
    }

    /// Releases the records of deletions so far.
    func forgetDeletes(before moment: Timestamp) throws(LarderError) {
        try backend.forgetDeletes(before: moment)
    }

    /// The backend's document.
    func document(at path: DocumentPath) throws(LarderError) -> Document? {
        try backend.document(at: path)
    }

    /// Ends the backend.
    func close() {
        backend.close { _ in }
        process.settle()
    }

    /// Ends the backend's process and drops its later work.
    func end() {
        close()
        process.kill()
    }
}
