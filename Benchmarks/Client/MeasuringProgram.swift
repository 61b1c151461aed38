import Foundation

/// A program of Larder's own package that measures what the public API does not show.
struct MeasuringProgram {
    /// Where it is.
    let path: String

    /// Runs it to its end, and reads what it has measured from its standard output.
    func run<Figures: Decodable>(_ arguments: [String]) throws -> Figures {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Run.Wrong(description: "\(path) failed")
        }
        return try JSONDecoder().decode(Figures.self, from: data)
    }
}
