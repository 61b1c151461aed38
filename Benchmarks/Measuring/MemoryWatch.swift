import Foundation
import Synchronization

/// Samples the anonymous memory of the process, which excludes mapped files such as the store.
package final class MemoryWatch: Sendable {
    private let before = MemoryWatch.anonymousBytes
    private let state: Mutex<(peak: Int, isDone: Bool)>
    private let ended = DispatchSemaphore(value: 0)

    /// Starts sampling, once a millisecond.
    package init() {
        state = Mutex((before, false))
        Thread.detachNewThread { [self] in
            while !state.withLock({ $0.isDone }) {
                let now = Self.anonymousBytes
                state.withLock { $0.peak = max($0.peak, now) }
                usleep(1_000)
            }
            ended.signal()
        }
    }

    /// The largest growth since the start, in bytes.
    package var growth: Int { state.withLock { $0.peak } - before }

    /// Ends sampling.
    ///
    /// - Returns: ``growth``.
    package func end() -> Int {
        state.withLock { $0.isDone = true }
        ended.wait()
        return growth
    }

    package static var anonymousBytes: Int { ProcessStatus.bytes("RssAnon") }
}

/// The memory figures of `/proc/PID/status`.
package enum ProcessStatus {
    /// A figure in bytes; 0 if there is no such process.
    package static func bytes(_ name: String, of process: String = "self") -> Int {
        let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        for line in (text ?? "").split(separator: "\n") where line.hasPrefix("\(name):") {
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first
            return (kibibytes.flatMap { Int($0) } ?? 0) * 1024
        }
        return 0
    }
}
