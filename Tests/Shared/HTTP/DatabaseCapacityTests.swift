import LarderCore
import Testing

@testable import LarderHTTP

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
        let files = 500 + DatabaseCapacity.otherFiles + DatabaseCapacity.leastConnections
        try DatabaseCapacity.check(databases: 100, ProcessLimits(files: files, maps: 65_530))
        #expect(throws: LarderError.self) {
            try DatabaseCapacity.check(databases: 100, ProcessLimits(files: files - 1))
        }
        try DatabaseCapacity.check(databases: 100_000, ProcessLimits())
    }

    @Test("Connections leave files for all databases")
    func connections() {
        let limits = ProcessLimits(files: 5_000)
        let left = DatabaseCapacity.connections(besides: 200, limits)
        #expect(left == 5_000 - 1_000 - DatabaseCapacity.otherFiles)
        #expect(DatabaseCapacity.connections(besides: 200, ProcessLimits()) == .max)
    }

    @Test("A server with few files opens fewer databases unless told otherwise")
    func defaults() throws {
        for (files, count) in [(nil, 100), (65_536, 100), (1_024, 51), (10, 1)] {
            let limits = ProcessLimits(files: files)
            #expect(DatabaseCapacity.defaultCount(kinds: 2, limits) == count)
        }
        try DatabaseCapacity.check(databases: 102, ProcessLimits(files: 1_024))
    }
}
