import Foundation
import LarderHTTP
import LarderRealtimeBackend
import LarderRealtimeModel
import Logging

/// A file in the folder of a namespace while a server has it open.
///
/// It has the name of the namespace. A server that is killed leaves it behind.
struct OpenMarker {
    private static let fileName = "open"

    private let url: URL

    init(inFolder path: String) {
        url = URL(fileURLWithPath: path).appendingPathComponent(Self.fileName)
    }

    /// Creates the file if possible: without it a namespace is recovered by its first use.
    func set(_ namespace: String) {
        try? Data(namespace.utf8).write(to: url)
    }

    func remove() {
        try? FileManager.default.removeItem(at: url)
    }

    private var namespace: String? {
        (try? Data(contentsOf: url)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The namespaces whose folders in a directory have the file, in the order of their names.
    static func namespaces(in directory: String) -> [String] {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return folders.compactMap { OpenMarker(inFolder: "\(directory)/\($0)").namespace }.sorted()
    }
}

extension Namespaces {
    /// Makes what sessions have left for their ends in the namespaces that a server had open when it
    /// was killed: opens each of them, and closes it again.
    ///
    /// Namespaces that are open by now are skipped: their opening has done the same. Others can be
    /// opened in between.
    func recover(_ logger: Logger) async {
        guard case .directory(let directory) = configuration.storage else { return }
        let names = try? await openers.run { OpenMarker.namespaces(in: directory) }
        for name in names ?? [] {
            do throws(LarderError) {
                try await openers.run { () throws(LarderError) in try self.recover(name) }
            } catch {
                if isClosed { return }
                logger.error(
                    "a namespace cannot be opened; what sessions have left is written by its first use",
                    metadata: ["namespace": "\(name)", "reason": "\(error)"])
            }
        }
    }

    private func recover(_ name: String) throws(LarderError) {
        if try opened(name) == nil { _ = try openAndClose(name, at: try path(of: name)) }
    }

    /// Makes what sessions have left in a namespace that is not open.
    ///
    /// - Returns: the closed backend.
    func openAndClose(_ name: String, at path: String?) throws(LarderError) -> RealtimeBackend {
        let (backend, _) = try makeBackend(name, at: path)
        try Self.closeAndWait(backend)
        if let path { OpenMarker(inFolder: path).remove() }
        return backend
    }
}
