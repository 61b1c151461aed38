import LarderDocumentStore
import LarderModel

/// Documents to which batches are applied, each in one pass over its mutations.
struct WorkingSet {
    /// Mutations of other documents are ignored.
    var documents: [DocumentPath: WorkingDocument] = [:]
    private let builder: RecordBuilder

    init(using builder: RecordBuilder) {
        self.builder = builder
    }

    /// Applies pending mutations.
    ///
    /// Linear in their number, even for many mutations of one document.
    mutating func apply(
        _ mutations: [Mutation], localWriteTime: Timestamp,
        batchID: Int64 = OverlayHistory.nextBatchID
    ) throws(LarderError) {
        for mutation in mutations {
            try documents[mutation.path]?.apply(
                mutation, localWriteTime: localWriteTime, batchID: batchID, using: builder)
        }
    }

    /// Notes that a batch, which is applied next, may depend on its base values.
    mutating func noteBases(
        of contents: MutationPayload, batchID: Int64 = OverlayHistory.nextBatchID
    ) {
        guard !contents.baseMutations.isEmpty else { return }
        let mutations = Dictionary(grouping: contents.mutations, by: \.path)
        for base in contents.baseMutations {
            guard let document = documents[base.path],
                !document.isSame(withBase: base, of: mutations[base.path] ?? [])
            else { continue }
            documents[base.path]?.history?.lastRebaseID = batchID
        }
    }

    /// Applies a batch of the queue, after those before it.
    ///
    /// The base values of its increments are used for documents whose cached version has changed
    /// since the batch was written, and may include the increment. Otherwise increments apply to
    /// the result of the batches before, so that they stay correct when one of those is cancelled.
    ///
    /// - Parameters:
    ///   - batch: the batch.
    ///   - contents: its decoded payload.
    mutating func apply(_ batch: MutationRow, _ contents: MutationPayload) throws(LarderError) {
        if !contents.baseMutations.isEmpty {
            noteBases(of: contents, batchID: batch.id)
            var moved = Set<DocumentPath>()
            for touched in batch.documents {
                guard let document = documents[touched.path] else { continue }
                if document.cachedVersion != touched.baseVersion { moved.insert(touched.path) }
            }
            try apply(
                contents.baseMutations.filter { moved.contains($0.path) },
                localWriteTime: batch.localWriteTime, batchID: batch.id)
        }
        try apply(
            contents.mutations, localWriteTime: batch.localWriteTime, batchID: batch.id)
    }
}

extension WorkingDocument {
    /// True if a batch certainly has the same effect with and without base values.
    ///
    /// - Parameters:
    ///   - base: the base values.
    ///   - mutations: the batch's mutations of the document.
    fileprivate func isSame(withBase base: Mutation, of mutations: [Mutation]) -> Bool {
        guard let record, case .patch(let values, let mask) = base.operation else { return true }
        return mask.paths.allSatisfy { path in
            switch (record[path], values[path]) {
            case (.integer(let number)?, .integer(let base)?): number == base
            case (.double(let number)?, .double(let base)?): number.bitPattern == base.bitPattern
            case (.integer?, _), (.double?, _): false
            case (_, let base): mutations.onlyIncrement(path, from: base)
            }
        }
    }
}

extension [Mutation] {
    /// True if a field is read and written by one increment only, whose base value is zero.
    ///
    /// Without a number in the field the increment's result is its operand, as it is with zero.
    fileprivate func onlyIncrement(_ path: FieldPath, from base: Value?) -> Bool {
        guard count == 1, let transforms = first?.transforms.filter({ $0.path.overlaps(path) }),
            transforms.count == 1, let increment = transforms.first, increment.path == path
        else { return false }
        return switch (increment.operation.baseValue(from: nil), base) {
        case (.integer?, .integer(let base)?): base == 0
        case (.double?, .double(let base)?): base.bitPattern == (-0.0).bitPattern
        default: false
        }
    }
}
