import Foundation
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import Logging

extension Databases {
    /// Fills the databases of files that have no documents; others are left as they are.
    ///
    /// - Parameters:
    ///   - path: a file `PROJECT/DATABASE.ndjson`, or a directory with a folder of such files.
    ///   - isCancelled: is set to end the import.
    /// - Throws: as ``DocumentImport/run()``, and as opening a database throws. Databases of earlier
    ///   files stay filled.
    func importDocuments(
        from path: String, _ progress: ServerConfiguration.ImportProgress? = nil,
        isCancelled: AtomicFlag = AtomicFlag(), _ logger: Logger
    ) async throws(LarderError) {
        let files = try await openers.run { () throws(LarderError) in
            try DocumentFiles.files(at: path)
        }
        for file in files {
            let backend = try await database(file.database)
            let count = try await openers.run { () throws(LarderError) -> Int? in
                guard try backend.documentCount() == 0 else { return nil }
                return try DocumentImport(
                    file, into: backend, progress: progress, isCancelled: isCancelled
                ).run()
            }
            var metadata: Logger.Metadata = [
                "database": "\(file.database)", "file": "\(file.path)",
            ]
            if let count {
                metadata["documents"] = "\(count)"
                logger.notice("a database was imported", metadata: metadata)
            } else {
                logger.notice(
                    "a database has documents and is not imported", metadata: metadata)
            }
        }
    }

    /// Ends the use of a database and writes its documents to a file.
    func export(
        _ backend: Backend, of id: DatabaseID, to target: ExportTarget
    ) async throws(LarderError) {
        await backend.stop()
        try await exporters.run { () throws(LarderError) in
            try DocumentFiles.write(backend, of: id, to: target)
        }
    }

    /// Writes the documents of the databases on disk to files, except of those that were exported.
    ///
    /// Only once all databases are closed.
    func exportClosed(_ exported: Set<DatabaseID>, to target: ExportTarget) async -> Failures {
        var failures: Failures = []
        for id in stored().filter({ !exported.contains($0) }) {
            do throws(LarderError) {
                let backend = try await openers.run { () throws(LarderError) in
                    try Backend(self.configuration(of: id))
                }
                let result: Result<Void, LarderError>
                do throws(LarderError) {
                    try await export(backend, of: id, to: target)
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                try await backend.close()
                try result.get()
            } catch {
                failures.append((id, error))
            }
        }
        return failures
    }

    /// The databases on disk, in the order of their folders.
    private func stored() -> [DatabaseID] {
        guard case .directory(let directory) = storage else { return [] }
        let files = FileManager.default
        func names(_ path: String) -> [(folder: String, name: String)] {
            let folders = (try? files.contentsOfDirectory(atPath: path)) ?? []
            return folders.sorted().compactMap { folder in
                FolderName.name(of: folder).map { (folder, $0) }
            }
        }
        return names(directory).flatMap { folder, project in
            names("\(directory)/\(folder)").compactMap { name, database in
                let contents = try? files.contentsOfDirectory(
                    atPath: "\(directory)/\(folder)/\(name)")
                // An empty folder is no database.
                guard contents?.isEmpty == false else { return nil }
                return DatabaseID(project: project, database: database)
            }
        }
    }
}
