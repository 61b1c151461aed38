import Foundation
import LarderModel
import LarderServer
import Logging
import ServiceLifecycle

/// Reports that the server listens: on standard output, in the ready file and to the service
/// manager.
struct Readiness: Service {
    let server: Server
    let file: String?
    let host: String
    let summary: String
    /// Logged after the report, whose line is the first that a script reads.
    let notice: String?
    let logger: Logger
    let manager = ServiceManager()

    func run() async throws {
        // A shutdown during the start must not wait for its end: the server receives it after this.
        let port = await cancelWhenGracefulShutdown { await server.port }
        if let port {
            try report(port)
            if let notice { logger.notice("\(notice)") }
        }
        // The group shuts down when a service returns.
        try? await gracefulShutdown()
        manager.report(.stopping)
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
        let status = "listens at \(name):\(port), \(summary)"
        try? FileHandle.standardOutput.write(contentsOf: Data("larderd \(status)\n".utf8))
        manager.report(.ready, status: status)
    }
}
