import ArgumentParser
import LarderDocumentStore
import LarderModel

/// The argument of `--index`: `state`, `country,population:desc`, `tags:contains`.
struct IndexArgument {
    private let segments: [IndexDefinition.Segment]

    /// Parses fields separated by commas; throws a usage error.
    init(_ text: String) throws {
        segments = try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            var path = String(part)
            var kind = IndexDefinition.Segment.Kind.ascending
            for (suffix, named) in Self.suffixes where path.hasSuffix(suffix) {
                path.removeLast(suffix.count)
                kind = named
            }
            do throws(LarderError) {
                return IndexDefinition.Segment(try FieldPath(canonical: path), kind)
            } catch {
                throw ValidationError("--index \(text): \(error.message).")
            }
        }
        if segments.count > 16 || segments.count(where: { $0.kind == .contains }) > 1 {
            throw ValidationError(
                "--index \(text): an index has at most 16 fields, one of them with :contains.")
        }
    }

    private static let suffixes: [(String, IndexDefinition.Segment.Kind)] = [
        (":asc", .ascending), (":desc", .descending), (":contains", .contains),
    ]

    /// Defines the index unless it exists, and adds existing documents to it in several commits.
    func define(in store: Store, group: String) throws(LarderError) {
        let definition = IndexDefinition(collectionGroup: group, segments: segments)
        let id = try store.write { txn throws(LarderError) in
            try txn.defineIndex(definition)
        }
        let isComplete = try store.read { txn throws(LarderError) in
            try txn.index(id)?.isComplete ?? false
        }
        if isComplete { return }
        try IndexFill(store: store).fill(id)
    }

    static func text(of definition: IndexDefinition) -> String {
        definition.segments.map { segment in
            switch segment.kind {
            case .ascending: segment.path.canonicalString
            case .descending: segment.path.canonicalString + ":desc"
            case .contains: segment.path.canonicalString + ":contains"
            }
        }.joined(separator: ",")
    }
}

/// Builds incomplete indexes and removes the remains of dropped ones, in several commits.
struct IndexFill {
    let store: Store

    private static let stepCount: Int64 = 1000

    /// Builds all indexes, with a progress bar, until a signal interrupts it.
    func run() throws(LarderError) {
        Interruption.catchSignals()
        try removeRemains()
        let incomplete = try store.read { txn throws(LarderError) in
            try txn.indexes().filter { !$0.isComplete }.map(\.id)
        }
        for id in incomplete { try fill(id) }
    }

    func fill(_ id: UInt32) throws(LarderError) {
        var bar = ProgressBar("index", unit: .count("documents"))
        defer { bar.finish() }
        var isDone = false
        while !isDone && !Interruption.isRequested {
            let progress = try store.write { txn throws(LarderError) in
                try txn.backfillIndex(id, maxDocuments: Self.stepCount)
            }
            bar.update(progress.doneCount, of: progress.totalCount)
            isDone = progress.isComplete
        }
    }

    private func removeRemains() throws(LarderError) {
        var isDone = false
        while !isDone && !Interruption.isRequested {
            isDone = try store.write { txn throws(LarderError) in
                // 0 stands for all unfinished drops.
                try txn.dropIndex(0, maxEntries: Self.stepCount)
            }
        }
    }
}
