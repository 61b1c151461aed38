import Foundation
import LarderModel
import LarderServer
import ServiceLifecycle

/// Reports that the server listens, on standard output and in the ready file.
struct Readiness: Service {
    let server: Server
    let file: String?
    let host: String
    let summary: String

    func run() async throws {
        if let port = await server.port { try report(port) }
        // The group shuts down when a service returns.
        try? await gracefulShutdown()
        if let file { try? FileManager.default.removeItem(atPath: file) }
    }

    private func report(_ port: Int) throws(LarderError) {
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
