import LarderCore
import LarderDocumentStore
import LarderModel

/// Imports documents in large commits.
///
/// Reads the documents of a commit before its transaction begins, so that slow input does not block
/// other writers.
struct Importer {
    /// The outcome of an import.
    enum Ending {
        /// The input was read to its end.
        case complete
        case interrupted
        /// Too many lines were invalid.
        case tooManyErrors
        /// The text between documents is malformed, or the input or the store failed.
        case failed(ToolError)
    }

    private(set) var addedCount: Int64 = 0
    /// The number of documents that replaced one with the same path.
    private(set) var replacedCount: Int64 = 0
    /// The number of skipped lines, array elements or object members.
    private(set) var errorCount: Int64 = 0
    /// The number of bytes read from the input.
    private(set) var consumedBytes: Int64 = 0
    private(set) var lastLine = 0
    private(set) var seconds: Double = 0

    var writtenCount: Int64 { addedCount + replacedCount }

    private let store: Store
    private let reader: DocumentReader
    private let batchCount: Int
    private let maxErrors: Int?
    private let name: String
    private let totalBytes: Int64?
    private var pending: [Pending] = []
    private var pendingBytes = 0
    private var bar = ProgressBar("import", unit: .bytes)

    private struct Pending {
        var path: DocumentPath
        var record: Record
        var line: Int
    }

    /// The maximum size of a commit's documents.
    private static let maxBatchBytes = 16 * 1024 * 1024

    /// Creates an import; `name` is the name of the input in messages, `totalBytes` its size if it
    /// is known.
    init(
        store: Store, reader: DocumentReader, batchCount: Int, maxErrors: Int?, name: String,
        totalBytes: Int64?
    ) {
        self.store = store
        self.reader = reader
        self.batchCount = batchCount
        self.maxErrors = maxErrors
        self.name = name
        self.totalBytes = totalBytes
        pending.reserveCapacity(batchCount)
    }

    mutating func run(_ input: DocumentInput) -> Ending {
        defer {
            bar.finish()
            seconds = bar.elapsedSeconds
            consumedBytes = input.consumedBytes
        }
        do {
            let builder = try RecordBuilder()
            while true {
                if Interruption.isRequested {
                    try commit()
                    return .interrupted
                }
                switch try input.next() {
                case .end:
                    try commit()
                    return Interruption.isRequested ? .interrupted : .complete
                case .tooLarge(let line):
                    let limit = ByteSize(Int64(DocumentInput.maxPieceBytes)).text
                    report(line: line, "a document of more than \(limit) of text")
                case .piece(let piece):
                    read(piece, builder)
                }
                if pending.count >= batchCount || pendingBytes >= Self.maxBatchBytes {
                    try commit()
                }
                if let maxErrors, errorCount > maxErrors {
                    try commit()
                    return .tooManyErrors
                }
                showProgress(input)
            }
        } catch let broken as DocumentInput.Broken {
            return end(
                with: ToolError(.badData, "\(name), line \(broken.line): \(broken.reason)"))
        } catch let failure as SystemFailure {
            return end(with: ToolError(.inputOutput, "cannot read \(name): \(failure)"))
        } catch let error as LarderError {
            pending.removeAll()
            return .failed(ToolError(error, about: "cannot write to the store"))
        } catch {
            return .failed(ToolError(.software, "\(error)"))
        }
    }

    /// Commits the documents read before an error.
    private mutating func end(with error: ToolError) -> Ending {
        do throws(LarderError) {
            try commit()
            return .failed(error)
        } catch {
            return .failed(ToolError(error, about: "cannot write to the store"))
        }
    }

    private mutating func read(_ piece: DocumentInput.Piece, _ builder: RecordBuilder) {
        do throws(JSONError) {
            let (path, fields) = try reader.read(piece.text, key: piece.key)
            do throws(LarderError) {
                let record = try builder.encode(fields)
                pendingBytes += record.byteCount
                pending.append(Pending(path: path, record: record, line: piece.line))
            } catch {
                report(line: piece.line, error.message)
            }
        } catch {
            // Offset 0 concerns the document as a whole.
            let place = error.place(in: piece.text)
            let column = error.offset == 0 ? "" : ", column \(place.column)"
            report(line: piece.line + place.line - 1, column: column, error.reason)
        }
        lastLine = piece.line
    }

    private mutating func report(line: Int, column: String = "", _ reason: String) {
        errorCount += 1
        bar.clear()
        Messages.line("larder: \(name), line \(line)\(column): \(reason)")
    }

    private mutating func showProgress(_ input: DocumentInput) {
        let count = writtenCount + Int64(pending.count)
        let elapsed = bar.elapsedSeconds
        bar.update(
            input.consumedBytes, of: totalBytes ?? 0,
            note: "\(NumberText.count(Int64(Double(count) / max(elapsed, 0.001)))) documents/s")
    }

    /// Commits the documents read.
    ///
    /// A document rejected by the store is reported; the others are written.
    private mutating func commit() throws(LarderError) {
        guard !pending.isEmpty else { return }
        var added: Int64 = 0
        var replaced: Int64 = 0
        var refused: [(line: Int, reason: String)] = []
        let now = SnapshotVersion(.now())
        try store.write { txn throws(LarderError) in
            (added, replaced) = (0, 0)
            refused.removeAll()
            for document in pending {
                let known = try txn.withDocument(at: document.path) { entry in
                    (isFound: entry.state == .found, createTime: entry.createTime)
                }
                do throws(LarderError) {
                    try txn.put(
                        document.record, at: document.path, version: now,
                        createTime: known?.createTime ?? now.timestamp)
                } catch {
                    guard error.kind == .invalidArgument else { throw error }
                    refused.append((document.line, error.message))
                    continue
                }
                if known?.isFound ?? false { replaced += 1 } else { added += 1 }
            }
        }
        addedCount += added
        replacedCount += replaced
        for refusal in refused { report(line: refusal.line, refusal.reason) }
        pending.removeAll(keepingCapacity: true)
        pendingBytes = 0
    }
}
