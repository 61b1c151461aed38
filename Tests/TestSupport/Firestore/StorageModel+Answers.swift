import LarderModel

extension StorageModel {
    /// Answers a question.
    public func answer(_ question: StorageQuestion) -> [String] {
        switch question {
        case .document(let path, let user):
            return lines([path], user, allStates: true)
        case .collection(let path, let user, let isReversed, let allStates, let start, let end):
            let found = lines(
                known(to: user).filter {
                    $0.parent == path && isInside($0, path, from: start, to: end)
                }, user, allStates: allStates)
            return isReversed ? found.reversed() : found
        case .group(let id, let user):
            return lines(
                known(to: user).filter { $0.collectionGroup == id }, user, allStates: false)
        case .readSince(let path, let version):
            let read = documents.filter { $0.key.parent == path && $0.value.version >= version }
            return read.sorted { ($0.value.version, $0.key) < ($1.value.version, $1.key) }
                .flatMap { lines([$0.key], nil, allStates: false) }
        case .collections:
            let found = documents.filter { $0.value.state == .found }
            return Dictionary(grouping: found.keys, by: \.parent).sorted { $0.key < $1.key }
                .map { StorageLines.collection($0.key, count: Int64($0.value.count)) }
        case .batches(let user):
            return sortedBatches(of: user).map { id, batch in
                StorageLines.batch(
                    id, batch.documents, batch.payload, attempts: batch.attempts,
                    failure: batch.failure)
            }
        case .batchesTouching(let path, let user):
            return sortedBatches(of: user).filter { $0.value.documents.contains(path) }
                .map { "\($0.key)" }
        case .batchesTouchingDocumentsIn(let path, let user):
            return sortedBatches(of: user)
                .filter { $0.value.documents.contains { $0.parent == path } }.map { "\($0.key)" }
        case .users:
            return batches.filter { !$0.value.isEmpty }.keys.sorted()
        case .overlays(let path, let user, let since):
            let saved = overlays[user, default: [:]].filter {
                $0.key.parent == path && $0.value.batch > since
            }
            return lines(saved.keys.sorted(), user, allStates: true)
        case .targets:
            return targets.sorted { $0.key < $1.key }
                .map { StorageLines.target($0.key, canonicalID: $0.value.canonicalID) }
        case .targetDocuments(let id):
            return (targets[id]?.documents ?? []).sorted().map(\.string)
        case .targetsHolding(let path):
            return targets.filter { $0.value.documents.contains(path) }.keys.sorted()
                .map { "\($0)" }
        }
    }

    private func sortedBatches(of user: String) -> [(key: Int64, value: Batch)] {
        batches[user, default: [:]].sorted { $0.key < $1.key }
    }

    private func known(to user: String?) -> [DocumentPath] {
        let overlaid = user.flatMap { overlays[$0]?.keys }.map(Array.init) ?? []
        return Set(documents.keys).union(overlaid).sorted()
    }

    private func isInside(
        _ path: DocumentPath, _ collection: CollectionPath, from start: String?, to end: String?
    ) -> Bool {
        func bound(_ id: String) -> DocumentPath? { try? collection.document(id) }
        if let start = start.flatMap(bound), path < start { return false }
        if let end = end.flatMap(bound), path > end { return false }
        return true
    }

    private func lines(_ paths: [DocumentPath], _ user: String?, allStates: Bool) -> [String] {
        paths.compactMap { path in
            if let overlay = user.flatMap({ overlays[$0]?[path] }) {
                guard allStates || overlay.fields != nil else { return nil }
                return StorageLines.document(
                    path, overlay.fields == nil ? .absent : .found, .none,
                    hasLocalMutations: true, overlay.fields ?? [:])
            }
            guard let row = documents[path], allStates || row.state == .found else { return nil }
            return StorageLines.document(
                path, row.state, row.version, hasLocalMutations: false, row.fields)
        }
    }
}
