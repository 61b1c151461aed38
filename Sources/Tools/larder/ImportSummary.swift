import ArgumentParser
import LarderModel
import LarderStorage

/// What an import did, and what the store holds after it.
struct ImportSummary {
    private let importer: Importer
    private let ending: Importer.Ending
    private let figures: StoreFigures
    private let directory: String
    private let collection: String?

    /// Reads the store's figures after an import.
    init(
        _ importer: Importer, ending: Importer.Ending, store: Store, directory: String,
        collection: String?
    ) throws(LarderError) {
        self.importer = importer
        self.ending = ending
        self.directory = directory
        self.collection = collection
        figures = try StoreFigures(store)
    }

    private var rate: Double {
        importer.seconds > 0 ? Double(importer.writtenCount) / importer.seconds : 0
    }

    /// The summary for people.
    var lines: [String] {
        let into = collection.map { " into \($0)" } ?? ""
        var lines = [
            "imported \(NumberText.things(importer.writtenCount, "document"))\(into): "
                + "\(NumberText.count(importer.addedCount)) added, "
                + "\(NumberText.count(importer.replacedCount)) replaced, "
                + "\(NumberText.count(importer.errorCount)) left out",
            "read \(ByteSize(importer.consumedBytes).text) in "
                + "\(NumberText.duration(seconds: importer.seconds)), "
                + "\(NumberText.count(Int64(rate.rounded()))) documents/s",
        ]
        let statistics = figures.statistics
        if statistics.evictedDocumentCount > 0 {
            lines.append(
                "evicted \(NumberText.things(statistics.evictedDocumentCount, "document")) "
                    + "to stay in the budget")
        }
        lines.append(
            "store \(directory): \(NumberText.things(statistics.documentCount, "document")), "
                + "\(ByteSize(statistics.totalBytes).text) of rows, "
                + "\(ByteSize(statistics.fileBytes).text) on disk")
        return lines
    }

    /// The summary for programs.
    var report: JSONReport {
        let outcome =
            switch ending {
            case .complete: "complete"
            case .interrupted: "interrupted"
            case .tooManyErrors: "tooManyErrors"
            case .failed: "failed"
            }
        return [
            "outcome": .string(outcome),
            "addedCount": .integer(importer.addedCount),
            "replacedCount": .integer(importer.replacedCount),
            "errorCount": .integer(importer.errorCount),
            "readBytes": .integer(importer.consumedBytes),
            "seconds": .rounded(importer.seconds),
            "documentsPerSecond": .rounded(rate),
            "evictedDocumentCount": .integer(figures.statistics.evictedDocumentCount),
            "store": figures.report,
        ]
    }

    /// Ends the command with another status than 0 where something was left out.
    func throwIfIncomplete() throws {
        switch ending {
        case .interrupted:
            throw ToolError(
                .interrupted, "interrupted after line \(importer.lastLine)",
                hint: "run it again: what is there already is replaced")
        case .failed(let error):
            throw error
        case .tooManyErrors:
            throw ToolError(
                .badData, "stopped after \(NumberText.things(importer.errorCount, "wrong line"))",
                hint: "mend them, or allow more with --max-errors")
        case .complete where importer.errorCount > 0 && importer.writtenCount == 0:
            throw ToolError(
                .badData, "none of \(NumberText.things(importer.errorCount, "document")) is right",
                hint: "see the reasons above")
        case .complete where importer.errorCount > 0:
            throw ExitCode(ExitStatus.findings.rawValue)
        case .complete:
            break
        }
    }
}
