import ArgumentParser
import LarderDocumentStore
import LarderModel

/// `larder train`: a compression dictionary from the store's own documents.
struct TrainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "train",
        abstract: "Trains a compression dictionary from the store's own documents.",
        discussion: """
            Large fields are stored compressed; a dictionary of common content makes them \
            smaller and faster to read. A new dictionary applies to later writes; --repack also \
            recompresses existing documents. A dictionary that would not save space is not \
            installed.

            EXAMPLES
              larder train
              larder train --repack --dictionary-size 32KiB
            """)

    @Flag(help: "Recompress documents that use an older dictionary or none.")
    var repack = false

    @Option(help: ArgumentHelp("Size of the dictionary (default: 8KiB).", valueName: "size"))
    var dictionarySize: ByteSize?

    @Option(
        help: ArgumentHelp("Bytes of samples to train from (default: 256KiB).", valueName: "size"))
    var sampleSize: ByteSize?

    @OptionGroup var options: StoreOptions

    mutating func validate() throws {
        for size in [dictionarySize, sampleSize] {
            if let size, !(256...67_108_864).contains(size.bytes) {
                throw ValidationError(
                    "The sizes of dictionary and samples must be between 256 B and 64 MiB.")
            }
        }
    }

    func run() throws {
        let output = Output.standard()
        try options.describingErrors {
            let store = try options.open(.readWrite)
            let before = try store.statistics()
            let result = try store.write { txn throws(LarderError) in
                try txn.trainDictionary(
                    dictionaryBytes: Int(dictionarySize?.bytes ?? 0),
                    maxSampleBytes: Int(sampleSize?.bytes ?? 0))
            }
            let changed = repack ? try repackAll(store, total: before.documentCount) : nil
            let after = try store.statistics()
            try store.close()
            if options.json {
                output.line(report(result, changed: changed, before, after))
            } else {
                print(result, changed: changed, before, after, to: output)
            }
        }
        try output.flush()
        if Interruption.isRequested { throw ToolError.interrupted }
    }

    private func repackAll(_ store: Store, total: Int64) throws -> Int64 {
        Interruption.catchSignals()
        var bar = ProgressBar("repack", unit: .count("documents"))
        defer { bar.finish() }
        var cursor = RepackCursor()
        var changed: Int64 = 0
        var isComplete = false
        while !isComplete && !Interruption.isRequested {
            let step = try store.write { txn throws(LarderError) in
                try txn.repack(maxDocuments: 500, from: &cursor)
            }
            isComplete = step.isComplete
            changed += step.changedCount
            bar.update(changed, of: total)
        }
        return changed
    }

    private func print(
        _ result: TrainingResult?, changed: Int64?, _ before: StoreStatistics,
        _ after: StoreStatistics, to output: Output
    ) {
        if let result {
            output.line(
                "dictionary \(result.dictionaryID): \(ByteSize(result.dictionaryBytes).text), from "
                    + "\(NumberText.things(Int64(result.sampleCount), "sample")) of "
                    + ByteSize(result.sampleBytes).text)
            output.line(
                "the samples compressed: \(ByteSize(result.beforeBytes).text) before, "
                    + "\(ByteSize(result.afterBytes).text) with it "
                    + "(\(NumberText.share(result.afterBytes, of: result.beforeBytes)))")
        } else {
            output.line(
                "no new dictionary: too few compressed fields, or it would not be smaller")
        }
        guard let changed else {
            if result != nil {
                output.line("used for later writes; --repack recompresses existing documents")
            }
            return
        }
        output.line("compressed \(NumberText.things(changed, "document")) again")
        output.line(
            "documents: \(ByteSize(before.storedRecordBytes).text) before, "
                + "\(ByteSize(after.storedRecordBytes).text) after "
                + "(\(ByteSize(after.rawRecordBytes).text) uncompressed)")
    }

    private func report(
        _ result: TrainingResult?, changed: Int64?, _ before: StoreStatistics,
        _ after: StoreStatistics
    ) -> JSONReport {
        [
            "trained": .boolean(result != nil),
            "dictionaryID": result.map { .integer(Int64($0.dictionaryID)) } ?? .null,
            "dictionaryBytes": result.map { .integer($0.dictionaryBytes) } ?? .null,
            "sampleCount": result.map { .integer(Int64($0.sampleCount)) } ?? .null,
            "sampleBytes": result.map { .integer($0.sampleBytes) } ?? .null,
            "samplesBeforeBytes": result.map { .integer($0.beforeBytes) } ?? .null,
            "samplesAfterBytes": result.map { .integer($0.afterBytes) } ?? .null,
            "repackedCount": changed.map { .integer($0) } ?? .null,
            "storedRecordBytesBefore": .integer(before.storedRecordBytes),
            "storedRecordBytesAfter": .integer(after.storedRecordBytes),
        ]
    }
}
