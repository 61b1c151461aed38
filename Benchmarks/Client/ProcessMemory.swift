import Floor
import Measuring

/// Memory of the process without mapped files such as the store.
enum ProcessMemory {
    /// Bytes now, after returning free memory to the system.
    static func settled() -> Int {
        workload_give_back_memory()
        return MemoryWatch.anonymousBytes
    }

    /// The largest growth of the process while a closure runs, in bytes.
    static func growth(during body: () async throws -> Void) async rethrows -> Int {
        workload_give_back_memory()
        let memory = MemoryWatch()
        defer { _ = memory.end() }
        try await body()
        return memory.growth
    }
}
