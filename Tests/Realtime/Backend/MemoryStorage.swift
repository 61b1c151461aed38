import LarderRealtimeBackend
import LarderRealtimeModel
import Synchronization

/// A storage in memory, whose commits can fail.
final class MemoryStorage: TreeStorage {
    struct State {
        var trees: [String: StoredTree] = [:]
        var commits: [String] = []
        var error: LarderError?
        var isClosed = false
    }

    let state = Mutex(State())

    func trees() throws(LarderError) -> [String: StoredTree] { state.withLock { $0.trees } }

    /// The records of a namespace as text, by owner.
    var records: [String: [String]] {
        let records = state.withLock { $0.trees["default"]?.records ?? [:] }
        return Dictionary(
            uniqueKeysWithValues: records.map { owner, records in
                ("\(owner.kind)/\(owner.id)", records.map { String(decoding: $0, as: UTF8.self) })
            })
    }

    func commit(_ changes: TreeCommit, to namespace: String) throws(LarderError) {
        let values = changes.values.paths.sorted().map {
            PathValue($0, changes.values[$0] ?? .empty)
        }
        let error = state.withLock { state -> LarderError? in
            if let error = state.error { return error }
            let records = changes.records.map { owner, change in
                "\(owner.id)\(change.replacesAll ? " replaced" : "") \(change.values.count)"
            }
            let texts = values.map { "\($0.path): \($0.node)" } + records.sorted()
            state.commits.append(texts.joined(separator: ", "))
            state.trees[namespace, default: StoredTree()].apply(changes)
            return nil
        }
        if let error { throw error }
    }

    func close(_ completion: @escaping @Sendable (Result<Void, LarderError>) -> Void) {
        state.withLock { $0.isClosed = true }
        completion(.success(()))
    }
}
