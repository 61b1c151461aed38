import Foundation

/// Prints the steps with their duration.
package struct Transcript {
    private let clock = ContinuousClock()

    package init() {}

    /// Prints the title of a chapter.
    package func title(_ text: String) {
        print("\n\(text)")
    }

    /// Prints a line without a duration.
    package func line(_ text: String) {
        tell("", text)
    }

    /// Runs a step, and prints its duration and result.
    package func step(_ text: String, _ body: () async throws -> String) async throws {
        let start = clock.now
        let result = try await body()
        let (seconds, attoseconds) = start.duration(to: clock.now).components
        let milliseconds = Double(seconds) * 1e3 + Double(attoseconds) / 1e15
        tell(String(format: "%.1f ms", milliseconds), "\(text): \(result)")
    }

    private func tell(_ time: String, _ text: String) {
        let blanks = String(repeating: " ", count: max(0, 11 - time.count))
        print(blanks + time + "  " + text)
        // The process may be killed before its buffers are flushed.
        fflush(nil)
    }
}

/// An unexpected result.
package struct Unequal: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
