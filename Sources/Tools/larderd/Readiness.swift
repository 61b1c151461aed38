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
            guard Self.write("\(name):\(port)\n", to: file) else {
                let reason = String(cString: strerror(errno))
                throw LarderError(.unavailable, "the file '\(file)' cannot be written: \(reason)")
            }
        }
        let status = "listens at \(name):\(port), \(summary)"
        try? FileHandle.standardOutput.write(contentsOf: Data("larderd \(status)\n".utf8))
        manager.report(.ready, status: status)
    }

    /// Replaces a file, so that no reader finds a part of its text.
    ///
    /// - Returns: false with `errno` if that fails.
    private static func write(_ text: String, to path: String) -> Bool {
        let temporary = "\(path).\(getpid())"
        guard let stream = fopen(temporary, "we") else { return false }
        let isWritten = fputs(text, stream) >= 0
        // Writes what is buffered.
        if fclose(stream) == 0, isWritten, rename(temporary, path) == 0 { return true }
        let code = errno
        unlink(temporary)
        errno = code
        return false
    }
}
