package import LarderModel

/// What a transaction commits at the backend: its writes, each only if what the transaction read
/// still holds.
package struct TransactionWrites: Sendable {
    private let reads: [DocumentPath: SnapshotVersion]

    /// The writes of a transaction.
    ///
    /// - Parameter reads: the version of each document that it read; none for one that was not
    ///   there.
    package init(reads: [DocumentPath: SnapshotVersion]) {
        self.reads = reads
    }

    /// The changes with what must hold for them, and a check of each document that was read and
    /// is not changed.
    ///
    /// The first change of a document that was read relies on its version, later ones and those
    /// of other documents on what they ask for themselves.
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
    /// That a document is still as it was read.
    fileprivate var precondition: Precondition { isNone ? .exists(false) : .updateTime(self) }
}

extension LarderError.Code {
    /// Whether a transaction that failed so may succeed when it is run again.
    package var isWorthAnotherTransaction: Bool {
        switch self {
        case .invalidArgument, .notFound, .permissionDenied, .outOfRange, .unimplemented, .dataLoss:
            false
        default: true
        }
    }
}
