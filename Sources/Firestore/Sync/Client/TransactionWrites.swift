package import LarderModel

/// The writes of a transaction, with preconditions for the documents that it has read.
package struct TransactionWrites: Sendable {
    private let reads: [DocumentPath: SnapshotVersion]

    /// - Parameter reads: the version of each document that was read; none for a missing document.
    package init(reads: [DocumentPath: SnapshotVersion]) {
        self.reads = reads
    }

    /// The mutations with their preconditions, and a `verify` for each document that was only read.
    ///
    /// The first mutation of a document that was read requires its version; later ones and those of
    /// other documents keep their own preconditions.
    ///
    /// - Throws: `invalidArgument` for an update of a document that was read and not found.
    package func guarded(_ mutations: [Mutation]) throws(LarderError) -> [Mutation] {
        var unchanged = reads
        var guarded: [Mutation] = []
        for mutation in mutations {
            guard let version = unchanged.removeValue(forKey: mutation.path) else {
                guarded.append(mutation)
                continue
            }
            if version.isNone, mutation.precondition == .exists(true) {
                throw .invalidArgument(
                    "The document '\(mutation.path)' cannot be updated: it does not exist.")
            }
            guarded.append(
                Mutation(
                    mutation.operation, at: mutation.path, precondition: version.precondition,
                    transforms: mutation.transforms))
        }
        for (path, version) in unchanged.sorted(by: { $0.key < $1.key }) {
            guarded.append(Mutation(.verify, at: path, precondition: version.precondition))
        }
        return guarded
    }
}

extension SnapshotVersion {
    fileprivate var precondition: Precondition { isNone ? .exists(false) : .updateTime(self) }
}

extension LarderError.Code {
    /// Whether a transaction that failed with this error may succeed when it is run again.
    package var isWorthAnotherTransaction: Bool {
        switch self {
        case .invalidArgument, .notFound, .permissionDenied, .outOfRange, .unimplemented, .dataLoss:
            false
        default: true
        }
    }
}
