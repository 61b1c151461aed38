import Foundation
import LarderHTTP
import LarderRealtimeBackend
import LarderRealtimeModel
import Logging

extension Namespaces {
    /// Fills the namespaces of files that have no data; others are left as they are.
    ///
    /// - Parameters:
    ///   - path: a file `NAMESPACE.json` or `NAMESPACE=FILE`, or a directory of such files.
    ///   - isCancelled: is set to end the import.
    /// - Throws: `invalidArgument` for files that cannot be read; `cancelled` when the import was
    ///   ended; as opening a namespace and writing to it throw. Namespaces of earlier files stay
    ///   filled.
    func importTrees(
        from path: String, isCancelled: AtomicFlag = AtomicFlag(), _ logger: Logger
    ) async throws(LarderError) {
        let files = try await openers.run { () throws(LarderError) in
            if TreeFiles.haveEmulatorDocuments(at: path) {
                logger.warning(
                    "documents that Google's Firestore emulator exported are not imported",
                    metadata: ["directory": "\(path)"])
            }
            return try TreeFiles.files(at: path)
        }
        for file in files {
            let use = try await use(file.namespace)
            guard use.namespace.backend.tree(of: file.namespace).isEmpty else {
                logger.notice(
                    "a namespace has data and is not imported",
                    metadata: ["namespace": "\(file.namespace)", "file": "\(file.path)"])
                continue
            }
            let tree = try await openers.run { () throws(LarderError) in
                try TreeFiles.read(
                    file, temporaryDirectory: try self.temporaryDirectory(),
                    progress: self.configuration.importProgress, isCancelled: isCancelled)
            }
            try await write(tree, to: use.namespace)
            logger.notice(
                "a namespace was imported",
                metadata: ["namespace": "\(file.namespace)", "file": "\(file.path)"])
        }
    }

    private func write(_ tree: Node, to namespace: Namespace) async throws(LarderError) {
        let result: Result<WriteResult, LarderError> = await withLoopContinuation { continuation in
            namespace.backend.write(
                TreeWrite(.root, tree, isValid: true), as: .administrator, in: namespace.name
            ) { continuation.resume(returning: $0) }
        }
        if case .invalid(let reason) = try result.get() {
            throw LarderError(realtime: .invalidArgument, reason)
        }
    }

    /// Writes the trees of all namespaces to files if the configuration says so, also when some of
    /// them cannot be written.
    ///
    /// Blocks; only once all namespaces are closed.
    ///
    /// - Parameter closed: those that were open.
    /// - Returns: the errors.
    func exportAll(closed: [Namespace]) -> [LarderError] {
        guard configuration.exportTarget != nil else { return [] }
        var failures: [LarderError] = []
        func attempt(_ export: () throws(LarderError) -> Void) {
            do throws(LarderError) { try export() } catch { failures.append(error) }
        }
        for namespace in closed {
            let name = namespace.name
            attempt { () throws(LarderError) in
                try export(namespace.backend.tree(of: name), of: name)
            }
        }
        guard case .directory(let directory) = configuration.storage else { return failures }
        let exported = Set(closed.map(\.name))
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in folders.compactMap(FolderName.name).sorted() where !exported.contains(name) {
            attempt { () throws(LarderError) in
                let backend = try openAndClose(name, at: try path(of: name))
                try export(backend.tree(of: name), of: name)
            }
        }
        return failures
    }

    /// Writes a tree to a file if the server exports; nothing for an empty one.
    private func export(_ tree: Node, of namespace: String) throws(LarderError) {
        guard let target = configuration.exportTarget, !tree.isEmpty else { return }
        try TreeFiles.write(tree, of: namespace, to: target)
    }
}
