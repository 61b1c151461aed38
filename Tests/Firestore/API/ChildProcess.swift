import Foundation

/// A process that a test starts, and may kill.
struct ChildProcess {
    private let process = Process()
    private let output = Pipe()

    /// Starts `LarderTestChild`.
    init(_ arguments: [String]) throws {
        process.executableURL = Bundle.main.executableURL?.deletingLastPathComponent()
            .appendingPathComponent("LarderTestChild")
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
    }

    /// Kills it once it has printed so many lines.
    ///
    /// - Returns: every whole line that it printed; nil when it ended by itself.
    func kill(after count: Int) -> [String]? {
        var text = ""
        while Self.lines(text).count < count {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            text += String(decoding: data, as: UTF8.self)
        }
        Foundation.kill(process.processIdentifier, SIGKILL)
        text += rest()
        return process.terminationReason == .uncaughtSignal ? Self.lines(text) : nil
    }

    /// Waits for its end.
    ///
    /// - Returns: every whole line that it printed; nil unless it ended well.
    func finish() -> [String]? {
        let text = rest()
        let isWell = process.terminationReason == .exit && process.terminationStatus == 0
        return isWell ? Self.lines(text) : nil
    }

    private func rest() -> String {
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n").dropLast(text.hasSuffix("\n") ? 0 : 1).map(String.init)
    }
}
