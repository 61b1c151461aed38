import LarderDocumentStore
package import LarderModel
package import LarderQuery
package import LarderRemote
import Synchronization

/// Calls that clients answer without a stream and without their cache.
extension Backend {
    package func run(
        _ selection: QuerySelection, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<SelectedDocuments, LarderError>) -> Void
    ) {
        core.answer(completion) { core throws(LarderError) in
            var documents: [Document] = []
            let version = try core.run(
                selection.queryWithOffset, as: credentials, in: nil, began: { _ in }
            ) { document in
                documents.append(document)
                return .continue
            }
            return SelectedDocuments(
                documents: try selection.selected(from: documents)
                    .map(DocumentReading.init(found:)),
                readTime: version)
        }
    }

    package func listCollectionIDs(
        below parent: DocumentPath?, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[String], LarderError>) -> Void
    ) {
        core.answer(completion) { [self] _ throws(LarderError) in
            try collectionIDs(below: parent)
        }
    }

    package func listDocuments(
        in collection: CollectionPath, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        core.answer(completion) { [self] core throws(LarderError) in
            var paths: [DocumentPath] = []
            _ = try core.run(
                Query(.collection(collection)), as: credentials, in: nil, began: { _ in }
            ) { document in
                paths.append(document.path)
                return .continue
            }
            return (paths + (try missingDocuments(in: collection))).sorted()
        }
    }

    package func list(
        _ page: SubtreePage, as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[DocumentPath], LarderError>) -> Void
    ) {
        core.answer(completion) { [self] _ throws(LarderError) in
            let cursor = cursor(
                .descendants(of: page.parent, directly: false, in: page.range), as: credentials)
            defer { cursor.close() }
            var paths: [DocumentPath] = []
            var isLast = false
            while !isLast, paths.count < page.limit {
                // Portion by portion: the rules need the documents.
                isLast = try cursor.next(maxBytes: 1 << 20) { (_, path, _) in
                    if paths.count < page.limit { paths.append(path) }
                }.isLast
            }
            return paths
        }
    }

    package func commitEach(
        _ mutations: [Mutation], as credentials: Credentials,
        _ completion: @escaping @Sendable (Result<[MutationOutcome], LarderError>) -> Void
    ) {
        guard !mutations.isEmpty else { return completion(.success([])) }
        let outcomes = Outcomes(count: mutations.count) { completion(.success($0)) }
        for (position, mutation) in mutations.enumerated() {
            commit([mutation], as: credentials) { result in
                outcomes.set(
                    result.flatMap { response in
                        response.results.first.map { .success($0) }
                            ?? .failure(LarderError(.internal, "an empty commit"))
                    }, at: position)
            }
        }
    }
}

extension SubtreePage {
    /// The names from which the page is taken.
    fileprivate var range: DocumentNameRange {
        var range = DocumentNameRange()
        if let (lower, upper) = bounds {
            range.lower = .init(DocumentPath(unchecked: lower), isInclusive: true)
            range.upper = .init(DocumentPath(unchecked: upper), isInclusive: false)
        }
        if let after { range.lower = .init(after, isInclusive: false) }
        return range
    }
}

/// The results of commits, which complete in any order.
private final class Outcomes: Sendable {
    private let state: Mutex<(outcomes: [MutationOutcome?], left: Int)>
    private let completion: @Sendable ([MutationOutcome]) -> Void

    init(count: Int, _ completion: @escaping @Sendable ([MutationOutcome]) -> Void) {
        state = Mutex((Array(repeating: nil, count: count), count))
        self.completion = completion
    }

    func set(_ outcome: MutationOutcome, at position: Int) {
        let all = state.withLock { state -> [MutationOutcome]? in
            state.outcomes[position] = outcome
            state.left -= 1
            return state.left == 0 ? state.outcomes.compactMap(\.self) : nil
        }
        if let all { completion(all) }
    }
}
