import LarderCore
import LarderDocumentJSON
import LarderDocumentStore
import LarderModel

/// Imports documents in large commits.
///
/// Reads the documents of a commit before its transaction begins, so that slow input does not block
/// other writers. Of a file it reads ahead and sorts by path, because rows written in the order of
/// their keys fill their pages; input of unknown size, such as a pipe, is written as it arrives.
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
        /// The position in the input: of two documents with one path the later replaces the earlier.
        var position: Int
    }

    /// The maximum size of a commit's documents.
    private static let maxBatchBytes = 16 * 1024 * 1024
    /// The size of the documents that are sorted together.
    private static let maxSortedBytes = 64 * 1024 * 1024

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
                if isFull { try commit() }
                if let maxErrors, errorCount > maxErrors {
                    try commit()
                    return .tooManyErrors
                }
                consumedBytes = input.consumedBytes
                showProgress()
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
                pending.append(
                    Pending(path: path, record: record, line: piece.line, position: pending.count))
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

    private mutating func showProgress() {
        let count = writtenCount + Int64(pending.count)
        let elapsed = bar.elapsedSeconds
        bar.update(
            consumedBytes, of: totalBytes ?? 0,
            note: "\(NumberText.count(Int64(Double(count) / max(elapsed, 0.001)))) documents/s")
    }

    private var isSorted: Bool { totalBytes != nil }

    /// True if no more documents are to be read before a commit.
    private var isFull: Bool {
        isSorted
            ? pendingBytes >= Self.maxSortedBytes
            : pending.count >= batchCount || pendingBytes >= Self.maxBatchBytes
    }

    /// Commits the documents read, in one commit or more.
    private mutating func commit() throws(LarderError) {
        if isSorted {
            pending.sort { left, right in
                left.path == right.path ? left.position < right.position : left.path < right.path
            }
        }
        let documents = pending
        pending.removeAll(keepingCapacity: true)
        pendingBytes = 0
        var start = 0
        while start < documents.count {
            let batch = firstBatch(of: documents[start...])
            try write(batch)
            start = batch.endIndex
            showProgress()
        }
    }

    /// The documents of one commit.
    private func firstBatch(of documents: ArraySlice<Pending>) -> ArraySlice<Pending> {
        var byteCount = 0
        return documents.prefix(batchCount).prefix { document in
            defer { byteCount += document.record.byteCount }
            return byteCount < Self.maxBatchBytes
        }
    }

    /// Commits documents.
    ///
    /// A document rejected by the store is reported; the others are written.
    private mutating func write(_ documents: ArraySlice<Pending>) throws(LarderError) {
        var added: Int64 = 0
        var replaced: Int64 = 0
        var refused: [(line: Int, reason: String)] = []
        let now = SnapshotVersion(.now())
        try store.write { txn throws(LarderError) in
            (added, replaced) = (0, 0)
            refused.removeAll()
            for document in documents {
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
    }
}
