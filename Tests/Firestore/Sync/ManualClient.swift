import LarderBackend
import LarderDocumentStore
import LarderModel
import LarderRemote
import LarderSync
import LarderTestSupport

extension Backend {
    /// A backend in memory whose time and turns are those of a scheduler.
    static func manual(_ scheduler: ManualScheduler) throws -> Backend {
        var configuration = BackendConfiguration(project: "test")
        configuration.clock = { scheduler.clock.timestamp }
        configuration.enqueue = { scheduler.run($0) }
        return try Backend(configuration)
    }
}

extension ClientConfiguration {
    /// The configuration of a client on a scheduler, with its store in a folder.
    static func manual(
        _ scheduler: ManualScheduler, in folder: TemporaryDirectory, remote: (any Remote)?
    ) -> ClientConfiguration {
        var storage = StoreConfiguration(directory: folder.file("store"))
        storage.durability = .lastCommitAtRisk
        var configuration = ClientConfiguration(
            storage: storage, databaseID: DatabaseID(project: "test"))
        configuration.remote = remote
        configuration.scheduler = scheduler
        return configuration
    }
}
