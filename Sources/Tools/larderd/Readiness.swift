import Foundation
import LarderModel
import LarderServer
import ServiceLifecycle

/// Says that the server listens: in a line, and in a file for whoever waits for it.
struct Readiness: Service {
    let server: Server
    let file: String?
    let host: String
    let summary: String

    func run() async throws {
        if let port = await server.port { try tell(port) }
        // A service that returns would end the others.
        try? await gracefulShutdown()
        if let file { try? FileManager.default.removeItem(atPath: file) }
    }

    private func tell(_ port: Int) throws(LarderError) {
        let name = host.contains(":") ? "[\(host)]" : host
        if let file {
            do {
                try Data("\(name):\(port)\n".utf8)
                    .write(to: URL(fileURLWithPath: file), options: .atomic)
            } catch {
                throw LarderError(.unavailable, "the file '\(file)' cannot be written: \(error)")
            }
        }
        try? FileHandle.standardOutput.write(
            contentsOf: Data("larderd listens at \(name):\(port), \(summary)\n".utf8))
    }
}
