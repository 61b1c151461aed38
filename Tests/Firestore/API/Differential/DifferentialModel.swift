import LarderModel
import LarderTestSupport

/// What a database must hold: cached documents and the writes over them, in plain maps, every
/// write applied again whenever one is taken back.
struct DifferentialModel {
    /// What is known of a document.
    struct State {
        /// The fields; nil for a document that is known not to exist.
        var fields: MapValue?
        /// Whether pending writes made it.
        var isPending = false
    }

    private struct Batch {
        let id: Int64
        let time: Timestamp
        let mutations: [Mutation]
    }

    private(set) var cached: [DocumentPath: MapValue?] = [:]
    private(set) var states: [DocumentPath: State] = [:]
    private var batches: [Batch] = []

    /// The ids of the pending writes, in order.
    var pending: [Int64] { batches.map(\.id) }

    /// The documents that exist.
    private(set) var documents: [DocumentPath: MapValue] = [:]

    /// Puts a document of the backend's, or the knowledge that there is none, into the cache.
    mutating func cache(_ path: DocumentPath, _ fields: MapValue?) {
        cached[path] = .some(fields)
        put(path, State(fields: fields))
    }

    private mutating func put(_ path: DocumentPath, _ state: State?) {
        states[path] = state
        documents[path] = state?.fields
    }

    /// Applies a write that was made at a time.
    mutating func write(_ mutations: [Mutation], at time: Timestamp, as id: Int64) {
        let batch = Batch(id: id, time: time, mutations: mutations)
        batches.append(batch)
        apply(batch)
    }

    /// Takes a write back.
    mutating func cancel(_ id: Int64) {
        batches.removeAll { $0.id == id }
        states = cached.mapValues { State(fields: $0) }
        documents = states.compactMapValues(\.fields)
        for batch in batches { apply(batch) }
    }

    /// Forgets cached documents, but those that pending writes touch; how many there were.
    mutating func evict(_ paths: [DocumentPath]) -> Int {
        let touched = Set(batches.flatMap { $0.mutations.map(\.path) })
        let gone = paths.filter { !touched.contains($0) }
        for path in gone {
            cached[path] = nil
            put(path, nil)
        }
        return gone.count
    }

    private mutating func apply(_ batch: Batch) {
        for mutation in batch.mutations {
            let before = states[mutation.path]?.fields
            if case .exists(true) = mutation.precondition, before == nil { continue }
            let fields = mutation.modelFields(over: before) { transform, old in
                transform.operation.modelEstimate(old, batch.time)
            }
            put(mutation.path, State(fields: fields, isPending: true))
        }
    }
}
