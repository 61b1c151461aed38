import Foundation

/// Tells what happens, a line each, with the time that it took.
struct Transcript {
    private let clock = ContinuousClock()

    /// Begins a chapter.
    func title(_ text: String) {
        print("\n\(text)")
    }

    /// Something that takes no time.
    func line(_ text: String) {
        tell("", text)
    }

    /// Does a step, and says how long it took and what came of it.
    func step(_ text: String, _ body: () async throws -> String) async throws {
        let start = clock.now
        let result = try await body()
        let (seconds, attoseconds) = start.duration(to: clock.now).components
        let milliseconds = Double(seconds) * 1e3 + Double(attoseconds) / 1e15
        tell(String(format: "%.1f ms", milliseconds), "\(text): \(result)")
    }

    private func tell(_ time: String, _ text: String) {
        let blanks = String(repeating: " ", count: max(0, 11 - time.count))
        print(blanks + time + "  " + text)
        // Whoever is killed has said what it did.
        fflush(nil)
    }
}
