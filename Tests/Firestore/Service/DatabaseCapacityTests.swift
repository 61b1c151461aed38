import LarderHTTP
import LarderModel
import Testing

@testable import LarderServer

@Suite("Server: the resources of databases")
struct DatabaseCapacityTests {
    @Test(
        "All databases together fit into the address space of a process, each with enough to start")
    func maps() {
        #expect(DatabaseCapacity.mapBytes(databases: 1) == 64 << 30)
        #expect(DatabaseCapacity.mapBytes(databases: 100) == 64 << 30)
        #expect(DatabaseCapacity.mapBytes(databases: 5_000) == 8 << 30)
        for count in [1, 99, 1_024, 1_025, 5_000, 100_000] {
            let bytes = DatabaseCapacity.mapBytes(databases: count)
            #expect(bytes.nonzeroBitCount == 1 && bytes >= 256 << 20)
            #expect(Int(bytes) * count <= 1 << 46)
        }
    }

    @Test("More databases than the process can open are refused before it starts")
    func limits() throws {
        let refused: [ProcessLimits] = [
            ProcessLimits(files: 1_024), ProcessLimits(maps: 5_000),
            ProcessLimits(addressSpace: 1 << 43),
        ]
        for limits in refused {
            let error = #expect(throws: LarderError.self) {
                try DatabaseCapacity.check(databases: 5_000, limits)
            }
            #expect(error?.kind == .failedPrecondition)
        }
        try DatabaseCapacity.check(
            databases: 5_000, ProcessLimits(files: 65_536, maps: 65_530))
        try DatabaseCapacity.check(databases: 100, ProcessLimits(files: 1_024, maps: 65_530))
        try DatabaseCapacity.check(databases: 100_000, ProcessLimits())
    }

    @Test("Connections leave files for the databases")
    func connections() {
        var limits = ServerConfiguration(storage: .memory).limits
        limits.connections = .max
        if let files = ProcessLimits.current.files {
            #expect(limits.ofConnections.total < files - 100)
        }
        limits.connections = 10
        limits.connectionsPerAddress = 3
        #expect(limits.ofConnections.total == 10 && limits.ofConnections.perAddress == 3)
    }
}
