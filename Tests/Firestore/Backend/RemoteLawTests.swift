import LarderBackend
import LarderModel
import LarderRemote
import LarderTestSupport
import Testing

@Suite("The laws of a remote: the backend in this process")
struct RemoteLawTests {
    @Test("in memory", .timeLimit(.minutes(10)), arguments: RemoteLaw.allCases)
    func inMemory(law: RemoteLaw) async throws {
        let backend = try Backend(BackendConfiguration(project: "p"))
        try await law.check(backend.connection.remote, DatabaseID(project: "p"))
        try await backend.close()
    }

    @Test("in a directory that all laws share", .timeLimit(.minutes(10)))
    func onDisk() async throws {
        let directory = try TemporaryDirectory()
        let backend = try Backend(
            BackendConfiguration(project: "p", location: .directory(directory.path)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for law in RemoteLaw.allCases {
                group.addTask {
                    try await law.check(backend.connection.remote, DatabaseID(project: "p"))
                }
            }
            try await group.waitForAll()
        }
        try await backend.close()
    }
}
