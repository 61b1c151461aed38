import Floor
import Foundation
import Synchronization

/// Memory of the process that no file backs: what the store maps is not in it.
enum ProcessMemory {
    /// Bytes now, after giving back what is free.
    static func settled() -> Int {
        workload_give_back_memory()
        return anonymous()
    }

    /// Bytes now.
    static func anonymous() -> Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
            return 0
        }
        for line in text.split(separator: "\n") where line.hasPrefix("RssAnon:") {
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first
            return (kibibytes.flatMap { Int($0) } ?? 0) * 1024
        }
        return 0
    }

    /// How many bytes the process grew by at most while something ran, looking twice a
    /// millisecond.
    static func growth(during body: () async throws -> Void) async rethrows -> Int {
        let before = settled()
        let state = Mutex((peak: before, isDone: false))
        let ended = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !state.withLock({ $0.isDone }) {
                let now = anonymous()
                state.withLock { $0.peak = max($0.peak, now) }
                usleep(500)
            }
            ended.signal()
        }
        defer {
            state.withLock { $0.isDone = true }
        }
        try await body()
        return state.withLock { $0.peak } - before
    }
}
