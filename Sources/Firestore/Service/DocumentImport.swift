import Foundation
import LarderBackend
import LarderCore
import LarderDocumentJSON
import LarderModel

/// The import of a file into a database without documents, in commits of many lines.
///
/// The file is read once, from its beginning to its end; a commit's documents, and one line, are in
/// memory at a time. The documents are kept only if all lines are valid.
struct DocumentImport {
    private static let commitCount = 500
    private static let commitBytes: Int64 = 4 << 20

    /// The documents of a commit.
    private struct Batch {
        private(set) var mutations: [Mutation] = []
        private(set) var lines: [Int] = []
        private var bytes: Int64 = 0

        var isEmpty: Bool { mutations.isEmpty }

        func hasRoom(for bytes: Int64) -> Bool {
            mutations.isEmpty
                || mutations.count < DocumentImport.commitCount
                    && self.bytes + bytes <= DocumentImport.commitBytes
        }

        mutating func append(_ mutation: Mutation, _ bytes: Int64, line: Int) {
            mutations.append(mutation)
            lines.append(line)
            self.bytes += bytes
        }
    }

    let file: DocumentFiles.File
    let backend: Backend
    /// Shows how far the file is read.
    let progress: ServerConfiguration.ImportProgress?
    /// Set when the server stops.
    let isCancelled: AtomicFlag

    private let reader = DocumentReader(
        collection: nil, idField: nil, keepsIDField: false, json: TypedJSONReader.Options())

    /// The maximum size of a line: values take at most about six times their size as JSON.
    private var maxLineBytes: Int { 8 * Int(backend.maxDocumentBytes) }

    init(
        _ file: DocumentFiles.File, into backend: Backend,
        progress: ServerConfiguration.ImportProgress?, isCancelled: AtomicFlag
    ) {
        self.file = file
        self.backend = backend
        self.progress = progress
        self.isCancelled = isCancelled
    }

    /// Imports the file; blocks.
    ///
    /// - Returns: the number of lines with documents.
    /// - Throws: `invalidArgument` with the line of what is not valid, and for a file that cannot be
    ///   read; `cancelled` if the server stops; errors of commits. The database is without documents
    ///   then.
    func run() throws(LarderError) -> Int {
        let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(errno) }
        defer { close(descriptor) }
        do throws(LarderError) {
            return try importLines(from: descriptor)
        } catch {
            // If this fails, the next opening of the database deletes the documents.
            try? backend.discardImport()
            throw error
        }
    }

    private func importLines(from descriptor: CInt) throws(LarderError) -> Int {
        let builder = try RecordBuilder()
        let input = DocumentInput(layout: .ndjson, prefersJSON: false, maxBytes: maxLineBytes) {
            try read(descriptor, into: $0)
        }
        let total = size(of: descriptor)
        var batch = Batch()
        var (count, shown) = (0, Int64(0))
        while true {
            switch try next(of: input) {
            case .piece(let piece):
                let (path, record) = try document(of: piece, builder)
                if !batch.hasRoom(for: record.sizeBytes) { try commit(&batch, after: &count) }
                batch.append(
                    Mutation(.set(record), at: path), record.sizeBytes, line: piece.line)
            case .tooLarge(let line):
                throw invalid("a document of more than \(maxLineBytes) bytes of text", line: line)
            case .end:
                if !batch.isEmpty { try commit(&batch, after: &count) }
                if count > 0 { try backend.endImport() }
                progress?(file.path, total, total)
                return count
            }
            if input.consumedBytes - shown >= 1 << 20 {
                shown = input.consumedBytes
                if shown < total { progress?(file.path, Int(shown), total) }
            }
        }
    }

    // MARK: Reading

    private func next(of input: DocumentInput) throws(LarderError) -> DocumentInput.Next {
        do {
            return try input.next()
        } catch let error as DocumentInput.Broken {
            throw invalid(error.reason, line: error.line)
        } catch {
            throw (error as? LarderError) ?? .invalidArgument("'\(file.path)': \(error)")
        }
    }

    private func read(
        _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
    ) throws(LarderError) -> Int {
        while true {
            let count = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw unreadable(errno) }
        }
    }

    private func size(of descriptor: CInt) -> Int {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    private func document(
        of piece: DocumentInput.Piece, _ builder: RecordBuilder
    ) throws(LarderError) -> (DocumentPath, Record) {
        do throws(JSONError) {
            let (path, fields) = try reader.read(piece.text, key: nil)
            do throws(LarderError) {
                return (path, try builder.encode(fields))
            } catch {
                throw JSONError(offset: 0, reason: error.message)
            }
        } catch {
            // Offset 0 concerns the document as a whole.
            let column = error.offset == 0 ? "" : ", column \(error.place(in: piece.text).column)"
            throw invalid(error.reason, line: piece.line, column: column)
        }
    }

    // MARK: Commits

    private func commit(_ batch: inout Batch, after count: inout Int) throws(LarderError) {
        guard !isCancelled.isSet else {
            throw LarderError(
                .cancelled, "the server stops during the import of '\(file.path)', which is undone")
        }
        if count == 0 { try backend.beginImport() }
        do throws(LarderError) {
            try backend.commitImported(batch.mutations)
        } catch  where error.kind == .invalidArgument {
            throw located(error, in: batch)
        }
        count += batch.mutations.count
        batch = Batch()
    }

    /// The error with the line of the document that is not valid: the first that cannot be committed
    /// by itself.
    private func located(_ error: LarderError, in batch: Batch) -> LarderError {
        for (mutation, line) in zip(batch.mutations, batch.lines) {
            do throws(LarderError) {
                try backend.commitImported([mutation])
            } catch {
                return invalid(error.message, line: line)
            }
        }
        return error
    }

    private func invalid(_ reason: String, line: Int, column: String = "") -> LarderError {
        .invalidArgument("\(file.path), line \(line)\(column): \(reason)")
    }

    private func unreadable(_ code: CInt) -> LarderError {
        .invalidArgument("'\(file.path)' cannot be read: \(String(cString: strerror(code)))")
    }
}
