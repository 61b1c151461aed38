import LarderDocumentStore
import LarderModel
import LarderTestSupport

private struct Abort: Error {}

/// A store in the words of the law.
struct StoreUnderLaw: StorageUnderTest {
    let store: Store

    func apply(_ operations: [StorageOperation], aborts: Bool) throws -> [StorageAnswer] {
        var answers: [StorageAnswer] = []
        do {
            try store.write { transaction in
                for operation in operations {
                    answers.append(try transaction.apply(operation))
                }
                if aborts { throw Abort() }
            }
        } catch is Abort {}
        return answers
    }

    func answer(_ question: StorageQuestion) throws -> [String] {
        try store.read { transaction in try transaction.answer(question) }
    }
}

extension WriteTransaction {
    fileprivate mutating func apply(_ operation: StorageOperation) throws -> StorageAnswer {
        switch operation {
        case .put(let path, let fields, let version):
            try put(Record(fields), at: path, version: version)
        case .putAbsent(let path, let version):
            try putAbsent(at: path, version: version)
        case .putUnknown(let path, let version):
            try putUnknown(at: path, version: version)
        case .remove(let path):
            return try remove(path) ? 1 : 0
        case .append(let user, let paths, let payload):
            return try appendMutations(
                payload, touching: paths.map { TouchedDocument(path: $0) },
                localWriteTime: .epoch, of: UserID(user))
        case .removeBatch(let user, let id):
            return try removeMutationBatch(id, of: UserID(user)) ? 1 : 0
        case .recordAttempt(let user, let id, let failure):
            return try recordAttempt(toSend: id, of: UserID(user), at: .epoch, failure: failure)
                ? 1 : 0
        case .putOverlay(let user, let path, let fields, let batch):
            try putOverlay(
                fields.map { try Record($0) }, at: path, of: UserID(user), largestBatchID: batch)
        case .removeOverlay(let user, let path):
            return try removeOverlay(at: path, of: UserID(user)) ? 1 : 0
        case .removeOverlays(let user, let batch):
            return try removeOverlays(savedUnder: batch, of: UserID(user))
        case .putTarget(let id, let canonicalID):
            try put(Target(id: id, query: [], canonicalID: canonicalID))
        case .removeTarget(let id):
            return try removeTarget(id) ? 1 : 0
        case .addToTarget(let id, let path):
            guard try target(id) != nil else { return 0 }
            try add(path, toTarget: id)
            return 1
        case .removeFromTarget(let id, let path):
            return try remove(path, fromTarget: id) ? 1 : 0
        }
        return 0
    }
}

extension ReadTransaction {
    fileprivate func answer(_ question: StorageQuestion) throws -> [String] {
        switch question {
        case .document(let path, let user):
            return try [document(at: path, asSeenBy: user.map { UserID($0) })]
                .compactMap { $0?.line }
        case .collection(let path, let user, let isReversed, let allStates, let start, let end):
            return try lines(
                .collection(path, from: start.map { .id($0) }, to: end.map { .id($0) }),
                ScanOptions(
                    isReversed: isReversed, includesAllStates: allStates,
                    user: user.map { UserID($0) }))
        case .group(let id, let user):
            return try lines(.group(id), ScanOptions(user: user.map { UserID($0) }))
        case .readSince(let path, let version):
            return try lines(.readSince(version, in: path))
        case .collections:
            return try allCollections().filter { $0.documentCount > 0 }
                .map { StorageLines.collection($0.path, count: $0.documentCount) }
        case .batches(let user):
            return try mutationBatches(of: UserID(user)).map {
                StorageLines.batch(
                    $0.id, $0.documents.map(\.path), $0.payload, attempts: $0.attemptCount,
                    failure: $0.lastError)
            }
        case .batchesTouching(let path, let user):
            var (lines, last) = ([String](), Int64(0))
            while let id = try nextMutationBatchID(
                touching: path, after: last, of: UserID(user))
            {
                lines.append("\(id)")
                last = id
            }
            return lines
        case .batchesTouchingDocumentsIn(let path, let user):
            return try mutationBatchIDs(touchingDocumentsIn: path, of: UserID(user)).map { "\($0)" }
        case .users:
            return try usersWithMutations().map(\.string)
        case .overlays(let path, let user, let since):
            return try lines(.overlays(of: UserID(user), in: path, sinceBatch: since))
        case .targets:
            return try targets().map { StorageLines.target($0.id, canonicalID: $0.canonicalID) }
        case .targetDocuments(let id):
            guard try target(id) != nil else { return [] }
            return try allDocuments(in: .target(id), options: ScanOptions(includesAllStates: true))
                .map(\.path).sorted().map(\.string)
        case .targetsHolding(let path):
            return try targetIDs(holding: path).map { "\($0)" }
        }
    }

    private func lines(_ source: DocumentSource, _ options: ScanOptions = ScanOptions()) throws
        -> [String]
    {
        try allDocuments(in: source, options: options).map(\.line)
    }
}

extension Document {
    fileprivate var line: String {
        StorageLines.document(
            path, state, version, hasLocalMutations: hasLocalMutations, fields)
    }
}
