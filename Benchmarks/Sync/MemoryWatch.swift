import Foundation
import Synchronization

/// Watches how much memory the process has that no file backs.
final class MemoryWatch: Sendable {
    private let before = MemoryWatch.anonymousBytes
    private let state: Mutex<(peak: Int, isDone: Bool)>
    private let ended = DispatchSemaphore(value: 0)

    init() {
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

    /// How many bytes the process has had more, at most, than when this was made.
    func growth() -> Int {
        state.withLock { $0.isDone = true }
        ended.wait()
        return state.withLock { $0.peak } - before
    }

    private static var anonymousBytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
            return 0
        }
        for line in text.split(separator: "\n") where line.hasPrefix("RssAnon:") {
            let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first
            return (kibibytes.flatMap { Int($0) } ?? 0) * 1024
        }
        return 0
    }
}
