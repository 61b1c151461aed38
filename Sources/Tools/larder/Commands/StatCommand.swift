import ArgumentParser
import LarderDocumentStore
import LarderModel
import LarderRealtimeStore

/// `larder stat`: the statistics of the store.
struct StatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Prints the statistics of the store.",
        discussion: """
            The size of a category is the space of its rows in pages of the data file; the \
            budget limits their total. The budget is an option of each process that opens the \
            store and is not stored.

            The category 'nodes' has the trees and tracked queries of Realtime Databases; their \
            pending and refused writes are in 'mutations'. Each tree is listed with its tracked \
            queries and writes.

            Cache rules are stored; the documents and bytes of each are listed, without those of \
            collections that have a more specific rule.

            EXAMPLES
              larder stat
              larder stat --json | jq .totalBytes
            """)

    @OptionGroup var options: StoreOptions

    func run() throws {
        let output = Output.standard()
        try options.describingErrors {
            let store = try options.open(.readOnly)
            let figures = try StoreFigures(store)
            try store.close()
            if options.json {
                output.line(figures.report)
            } else {
                output.line("store \(options.directory)")
                output.line("which is \(figures.kind.text)")
                for line in figures.lines { output.line(line) }
            }
        }
        try output.flush()
    }
}

struct StoreFigures {
    let statistics: StoreStatistics
    let kind: StoreKind
    /// The number of documents with pending writes applied; nil without pending writes.
    private let visibleCount: Int64?
    private let opening: StoreOpening
    private let quarantines: [String]
    private let dictionaries: [CompressionDictionary]
    private let indexes: [IndexInfo]
    private let trees: [TreeSummary]
    private let cacheRules: [CacheRuleUsage]
    /// The cache rules of each tree, by its name.
    private let treeRules: [String: [TreeCacheRuleUsage]]

    /// Reads the statistics as of the newest commit.
    init(_ store: Store) throws(LarderError) {
        opening = store.opening
        quarantines = store.quarantines
        (kind, visibleCount) = try store.read { txn throws(LarderError) in
            let kind = try StoreKind(txn)
            guard try txn.mutationBatchCount(of: .unauthenticated) > 0 else { return (kind, nil) }
            let collections = try txn.allCollections(asSeenBy: .unauthenticated)
            return (kind, collections.reduce(0) { $0 + $1.documentCount })
        }
        (statistics, dictionaries, indexes, trees, cacheRules, treeRules) = try store.read {
            txn throws(LarderError) in
            let trees = try txn.treeSummaries()
            var treeRules: [String: [TreeCacheRuleUsage]] = [:]
            for tree in trees { treeRules[tree.name] = try txn.cacheRuleUsage(ofTree: tree.name) }
            return (
                try txn.statistics(), try txn.dictionaries(), try txn.indexes(), trees,
                try txn.cacheRules(), treeRules
            )
        }
    }

    private var categories: [(name: String, usage: StoreStatistics.Usage)] {
        [
            ("documents", statistics.documents), ("overlays", statistics.overlays),
            ("mutations", statistics.mutations), ("indexes", statistics.indexes),
            ("targets", statistics.targets), ("nodes", statistics.nodes),
            ("catalog", statistics.catalog),
        ]
    }

    /// The read transactions of others; the statistics are read in one, too.
    private var otherReaderCount: Int { max(0, statistics.readerCount - 1) }

    // MARK: Text

    /// Sections with aligned columns.
    var lines: [String] {
        var lines = contents.lines + [""] + usage.lines + [""] + file.lines
        if !cacheRules.isEmpty { lines += [""] + ruleTable.lines }
        if !trees.isEmpty { lines += [""] + treeTable.lines }
        if treeRules.values.contains(where: { !$0.isEmpty }) { lines += [""] + treeRuleTable.lines }
        if !indexes.isEmpty { lines += [""] + indexTable.lines }
        if !dictionaries.isEmpty { lines += [""] + dictionaryTable.lines }
        return lines
    }

    private var contents: TextTable {
        var table = TextTable([("", .left), ("", .right), ("", .left)])
        table.add("documents", NumberText.count(statistics.documentCount))
        if let visibleCount {
            table.add("with pending writes", NumberText.count(visibleCount), "as readers see them")
        }
        if statistics.absentCount > 0 {
            table.add(
                "absent, unknown", NumberText.count(statistics.absentCount),
                "known not to exist, or without contents")
        }
        table.add("collections", NumberText.count(statistics.collectionCount))
        table.add("pending batches", NumberText.count(statistics.pendingBatchCount))
        table.add(
            "fields as written", ByteSize(statistics.rawRecordBytes).text,
            perDocument(statistics.rawRecordBytes))
        table.add(
            "as stored", ByteSize(statistics.storedRecordBytes).text,
            perDocument(statistics.storedRecordBytes) + ", "
                + "\(NumberText.share(statistics.storedRecordBytes, of: statistics.rawRecordBytes))"
                + " of it")
        return table
    }

    private func perDocument(_ bytes: Int64) -> String {
        guard statistics.documentCount > 0 else { return "no documents" }
        return "\(bytes / statistics.documentCount) B per document"
    }

    private var usage: TextTable {
        var table = TextTable([
            ("category", .left), ("rows", .right), ("size", .right), ("share", .right),
        ])
        for (name, usage) in categories {
            table.add(
                name, NumberText.count(usage.rowCount), ByteSize(usage.sizeBytes).text,
                NumberText.share(usage.sizeBytes, of: statistics.totalBytes))
        }
        table.add(
            "total", NumberText.count(categories.reduce(0) { $0 + $1.usage.rowCount }),
            ByteSize(statistics.totalBytes).text)
        return table
    }

    private var file: TextTable {
        var table = TextTable([("", .left), ("", .right), ("", .left)])
        table.add("data file", ByteSize(statistics.fileBytes).text)
        table.add(
            "free in it", ByteSize(statistics.freeBytes).text,
            NumberText.share(statistics.freeBytes, of: statistics.fileBytes))
        table.add("budget", statistics.budgetBytes.map { ByteSize($0).text } ?? "none")
        table.add("commits", NumberText.count(Int64(clamping: statistics.commitNumber)))
        table.add("other readers", NumberText.count(otherReaderCount))
        table.add("field name sets", NumberText.count(statistics.shapeCount))
        table.add("format", "\(statistics.formatVersion)")
        table.add(
            "opened", opening.state.rawValue,
            opening.recoveredCommitCount > 0
                ? "\(opening.recoveredCommitCount) commits from the log" : "")
        if opening.lostCommitCount > 0 {
            table.add("lost commits", NumberText.count(Int64(clamping: opening.lostCommitCount)))
        }
        if opening.isSnapshot { table.add("reads", "a copy", "which does not show later commits") }
        for directory in quarantines { table.add("damaged files", "", "in " + directory) }
        return table
    }

    private var ruleTable: TextTable {
        var table = TextTable([
            ("cache rule", .left), ("documents", .right), ("size", .right), ("", .left),
        ])
        for usage in cacheRules {
            table.add(
                usage.rule.selectorText, NumberText.count(usage.documentCount),
                ByteSize(usage.sizeBytes).text, usage.rule.propertiesText)
        }
        return table
    }

    private var treeTable: TextTable {
        var table = TextTable([
            ("tree", .left), ("tracked queries", .right), ("pending writes", .right),
            ("refused writes", .right),
        ])
        for tree in trees {
            table.add(
                tree.name, NumberText.count(Int64(tree.trackedQueryCount)),
                NumberText.count(Int64(tree.pendingWriteCount)),
                NumberText.count(Int64(tree.refusedWriteCount)))
        }
        return table
    }

    private var treeRuleTable: TextTable {
        var table = TextTable([
            ("cache rule", .left), ("tree", .left), ("tracked queries", .right), ("size", .right),
            ("", .left),
        ])
        for tree in trees {
            for usage in treeRules[tree.name] ?? [] {
                table.add(
                    usage.path, tree.name,
                    NumberText.count(Int64(usage.trackedQueryCount)),
                    ByteSize(usage.sizeBytes).text, usage.propertiesText)
            }
        }
        return table
    }

    private var indexTable: TextTable {
        var table = TextTable([
            ("index", .right), ("group", .left), ("fields", .left), ("entries", .right),
            ("size", .right), ("state", .left),
        ])
        for index in indexes {
            table.add(
                "\(index.id)", index.definition.collectionGroup,
                IndexArgument.text(of: index.definition),
                NumberText.count(index.entryCount), ByteSize(index.sizeBytes).text,
                index.isComplete ? "complete" : "being built")
        }
        return table
    }

    private var dictionaryTable: TextTable {
        var table = TextTable([
            ("dictionary", .right), ("size", .right), ("records", .right), ("", .left),
        ])
        for dictionary in dictionaries {
            table.add(
                "\(dictionary.id)", ByteSize(dictionary.sizeBytes).text,
                NumberText.count(dictionary.recordCount),
                dictionary.id == statistics.dictionaryID ? "in use" : "")
        }
        return table
    }

    // MARK: JSON

    /// The JSON report, with sizes in bytes.
    var report: JSONReport {
        let ratio =
            statistics.rawRecordBytes > 0
            ? Double(statistics.storedRecordBytes) / Double(statistics.rawRecordBytes) : .nan
        return [
            "role": kind.role.map { .string($0.rawValue) } ?? .null,
            "documentCount": .integer(statistics.documentCount),
            "visibleDocumentCount": .integer(visibleCount ?? statistics.documentCount),
            "absentCount": .integer(statistics.absentCount),
            "collectionCount": .integer(statistics.collectionCount),
            "pendingBatchCount": .integer(statistics.pendingBatchCount),
            "rawRecordBytes": .integer(statistics.rawRecordBytes),
            "storedRecordBytes": .integer(statistics.storedRecordBytes),
            "storedShare": .rounded(ratio),
            "usage": .object(
                categories.map { name, usage in
                    (
                        name,
                        [
                            "rowCount": .integer(usage.rowCount),
                            "sizeBytes": .integer(usage.sizeBytes),
                        ]
                    )
                }),
            "totalBytes": .integer(statistics.totalBytes),
            "budgetBytes": statistics.budgetBytes.map { .integer($0) } ?? .null,
            "fileBytes": .integer(statistics.fileBytes),
            "freeBytes": .integer(statistics.freeBytes),
            "commitNumber": .integer(Int64(clamping: statistics.commitNumber)),
            "otherReaderCount": .integer(otherReaderCount),
            "shapeCount": .integer(statistics.shapeCount),
            "formatVersion": .integer(statistics.formatVersion),
            "opening": [
                "state": .string(opening.state.rawValue),
                "recoveredCommitCount": .integer(
                    Int64(clamping: opening.recoveredCommitCount)),
                "lostCommitCount": .integer(Int64(clamping: opening.lostCommitCount)),
                "isSnapshot": .boolean(opening.isSnapshot),
            ],
            "quarantines": .array(quarantines.map { .string($0) }),
            "dictionaryID": statistics.dictionaryID.map { .integer(Int64($0)) } ?? .null,
            "cacheRules": .array(cacheRules.map(Self.report)),
            "trees": .array(trees.map { Self.report($0, treeRules[$0.name] ?? []) }),
            "indexes": .array(indexes.map(Self.report)),
            "dictionaries": .array(dictionaries.map(Self.report)),
        ]
    }

    private static func report(_ usage: CacheRuleUsage) -> JSONReport {
        let rule = usage.rule
        return [
            "selector": .string(rule.selectorText),
            "isPinned": .boolean(rule.isPinned),
            "isNeverCached": .boolean(rule.isNeverCached),
            "isLocalOnly": .boolean(rule.isLocalOnly),
            "maximumBytes": rule.maximumBytes.map { .integer($0) } ?? .null,
            "maximumAgeSeconds": rule.maximumAge.map { .integer($0.components.seconds) } ?? .null,
            "documentCount": .integer(usage.documentCount),
            "sizeBytes": .integer(usage.sizeBytes),
        ]
    }

    private static func report(_ usage: TreeCacheRuleUsage) -> JSONReport {
        [
            "path": .string(usage.path),
            "isPinned": .boolean(usage.isPinned),
            "isNeverCached": .boolean(usage.isNeverCached),
            "isLocalOnly": .boolean(usage.isLocalOnly),
            "maximumBytes": usage.maximumBytes.map { .integer($0) } ?? .null,
            "maximumAgeSeconds": usage.maximumAge.map { .integer($0.components.seconds) } ?? .null,
            "trackedQueryCount": .integer(usage.trackedQueryCount),
            "sizeBytes": .integer(usage.sizeBytes),
        ]
    }

    private static func report(
        _ tree: TreeSummary, _ rules: [TreeCacheRuleUsage]
    ) -> JSONReport {
        [
            "name": .string(tree.name),
            "trackedQueryCount": .integer(tree.trackedQueryCount),
            "pendingWriteCount": .integer(tree.pendingWriteCount),
            "refusedWriteCount": .integer(tree.refusedWriteCount),
            "cacheRules": .array(rules.map(Self.report)),
        ]
    }

    private static func report(_ index: IndexInfo) -> JSONReport {
        [
            "id": .integer(Int64(index.id)),
            "group": .string(index.definition.collectionGroup),
            "fields": .string(IndexArgument.text(of: index.definition)),
            "entryCount": .integer(index.entryCount),
            "sizeBytes": .integer(index.sizeBytes),
            "isComplete": .boolean(index.isComplete),
        ]
    }

    private static func report(_ dictionary: CompressionDictionary) -> JSONReport {
        [
            "id": .integer(Int64(dictionary.id)),
            "sizeBytes": .integer(dictionary.sizeBytes),
            "recordCount": .integer(dictionary.recordCount),
        ]
    }
}

extension CacheRule {
    /// The path of a collection, or a group's ID in the form of a pattern.
    fileprivate var selectorText: String {
        switch selector {
        case .collection(let path): path
        case .collectionGroup(let id): "**/\(id)"
        case .allCollections: "**"
        }
    }

    fileprivate var propertiesText: String {
        rulePropertiesText(
            isPinned: isPinned, isNeverCached: isNeverCached, isLocalOnly: isLocalOnly,
            maximumBytes: maximumBytes, maximumAge: maximumAge)
    }
}

extension TreeCacheRuleUsage {
    fileprivate var propertiesText: String {
        rulePropertiesText(
            isPinned: isPinned, isNeverCached: isNeverCached, isLocalOnly: isLocalOnly,
            maximumBytes: maximumBytes, maximumAge: maximumAge)
    }
}

/// The properties of a rule, such as "pinned" or "at most 20 MiB, unused for at most 60 s".
private func rulePropertiesText(
    isPinned: Bool, isNeverCached: Bool, isLocalOnly: Bool, maximumBytes: Int64?,
    maximumAge: Duration?
) -> String {
    var parts: [String] = []
    if isPinned { parts.append("pinned") }
    if isNeverCached { parts.append("never cached") }
    if isLocalOnly { parts.append("local only") }
    if let maximumBytes { parts.append("at most \(ByteSize(maximumBytes).text)") }
    if let maximumAge { parts.append("unused for at most \(maximumAge.components.seconds) s") }
    return parts.isEmpty ? "as without a rule" : parts.joined(separator: ", ")
}
