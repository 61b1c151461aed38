package import Foundation
package import LarderCore

/// A file with a part of a server's settings, such as a certificate, a token or rules.
package enum SettingsFile {
    /// The size from which a file is refused.
    private static let maxBytes = 64 << 20
    private static let stepBytes = 64 << 10

    /// Reads a file; blocks on disk I/O.
    ///
    /// - Throws: `invalidArgument` with the reason for a file that cannot be read.
    package static func read(_ path: String) throws(LarderError) -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        var content = Data()
        var step = [UInt8](repeating: 0, count: stepBytes)
        while true {
            let count = Foundation.read(descriptor, &step, step.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path, errno) }
            guard count > 0 else { return content }
            guard content.count + count < maxBytes else {
                throw refusal("the file '\(path)' is larger than \(maxBytes >> 20) MiB")
            }
            content.append(contentsOf: step.prefix(count))
        }
    }

    /// Reads a file of text; blocks on disk I/O.
    ///
    /// - Throws: `invalidArgument` with the reason for a file that cannot be read, or is not UTF-8.
    package static func readText(_ path: String) throws(LarderError) -> String {
        guard let text = String(validating: try read(path), as: UTF8.self) else {
            throw refusal("the file '\(path)' cannot be read: it is not UTF-8")
        }
        return text
    }

    private static func unreadable(_ path: String, _ code: CInt) -> LarderError {
        refusal("the file '\(path)' cannot be read: \(String(cString: strerror(code)))")
    }

    private static func refusal(_ message: String) -> LarderError {
        LarderError(.invalidArgument, message, domain: LarderError.sharedDomain)
    }
}
