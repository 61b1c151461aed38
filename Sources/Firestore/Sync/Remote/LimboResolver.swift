import LarderModel
import LarderQuery
import LarderRemote

/// Asks the backend for documents in limbo, a bounded number at a time.
///
/// A machine without threads: hand in what happens, carry out what ``takeRequests()`` gives.
struct LimboResolver: Sendable {
    /// What is to be asked of the backend.
    enum Request: Sendable {
        /// Watch the document of a target.
        case listen(TargetData)
        /// Watch it no longer.
        case unlisten(Int32)
    }

    private struct Resolution {
        let path: DocumentPath
        /// Whether the backend has told of the document.
        var hasDocument = false
    }

    private let limit: Int
    /// The targets in whose views a document is in limbo.
    private var holders: [DocumentPath: Set<Int32>] = [:]
    private var pathsOfHolder: [Int32: Set<DocumentPath>] = [:]
    private var resolutions: [Int32: Resolution] = [:]
    private var targetIDs: [DocumentPath: Int32] = [:]
    /// Documents that wait, with their place in the queue.
    private var places: [DocumentPath: UInt64] = [:]
    /// Oldest first; entries that are no longer in ``places`` are passed over.
    private var queue: [(path: DocumentPath, place: UInt64)] = []
    private var queueHead = 0
    private var lastPlace: UInt64 = 0
    private var nextTargetID: Int32 = 1
    private var requests: [Request] = []

    /// Nothing in limbo.
    ///
    /// - Parameter limit: how many documents are asked for at a time.
    init(limit: Int) {
        self.limit = limit
    }

    /// The documents that are being asked for, with their targets.
    var active: [DocumentPath: Int32] { targetIDs }

    /// The documents that wait, in the order in which they will be asked for.
    var waiting: [DocumentPath] {
        queue[queueHead...].filter { places[$0.path] == $0.place }.map(\.path)
    }

    /// The document of a target that resolves limbo.
    func path(of targetID: Int32) -> DocumentPath? { resolutions[targetID]?.path }

    /// A target that resolves limbo, as the backend is asked for it.
    func data(of targetID: Int32) -> TargetData? {
        resolutions[targetID].map { Self.data(targetID, $0.path) }
    }

    /// The document of a target that resolves limbo, once the backend has told of it.
    func document(of targetID: Int32) -> DocumentPath? {
        resolutions[targetID].flatMap { $0.hasDocument ? $0.path : nil }
    }

    /// Takes what is to be asked of the backend.
    mutating func takeRequests() -> [Request] {
        guard !requests.isEmpty else { return [] }
        defer { requests = [] }
        return requests
    }

    /// A document of a target's view came into limbo or left it.
    mutating func apply(_ change: LimboChange, of targetID: Int32) {
        if change.isAdded {
            hold(change.path, targetID)
        } else {
            release(change.path, targetID)
        }
    }

    /// A target has no view any more.
    mutating func releaseAll(of targetID: Int32) {
        for path in (pathsOfHolder[targetID] ?? []).sorted() { release(path, targetID) }
    }

    /// Notes what an event tells of targets that resolve limbo.
    mutating func note(_ changes: [Int32: RemoteTargetChange]) {
        guard !resolutions.isEmpty else { return }
        for (id, change) in changes {
            if !change.added.isEmpty { resolutions[id]?.hasDocument = true }
            if !change.removed.isEmpty { resolutions[id]?.hasDocument = false }
        }
    }

    /// The backend has refused a target; it need not be told that it is over.
    mutating func reject(_ targetID: Int32) {
        guard let resolution = resolutions.removeValue(forKey: targetID) else { return }
        targetIDs[resolution.path] = nil
        pump()
    }

    /// Forgets everything without a word to the backend.
    mutating func removeAll() {
        let next = nextTargetID
        self = LimboResolver(limit: limit)
        nextTargetID = next
    }

    private mutating func hold(_ path: DocumentPath, _ holder: Int32) {
        pathsOfHolder[holder, default: []].insert(path)
        guard holders[path, default: []].insert(holder).inserted,
            targetIDs[path] == nil, places[path] == nil
        else { return }
        lastPlace += 1
        places[path] = lastPlace
        queue.append((path, lastPlace))
        pump()
    }

    private mutating func release(_ path: DocumentPath, _ holder: Int32) {
        if pathsOfHolder[holder]?.remove(path) != nil, pathsOfHolder[holder]?.isEmpty == true {
            pathsOfHolder[holder] = nil
        }
        guard holders[path]?.remove(holder) != nil, holders[path]?.isEmpty == true else { return }
        holders[path] = nil
        places[path] = nil
        guard let id = targetIDs.removeValue(forKey: path) else { return }
        resolutions[id] = nil
        requests.append(.unlisten(id))
        pump()
    }

    private static func data(_ id: Int32, _ path: DocumentPath) -> TargetData {
        TargetData(id: id, target: Query(.document(path)).target, purpose: .limboResolution)
    }

    private mutating func pump() {
        while targetIDs.count < limit, queueHead < queue.count {
            let (path, place) = queue[queueHead]
            queueHead += 1
            guard places[path] == place else { continue }
            places[path] = nil
            let id = nextTargetID
            // Odd numbers are for these targets; after the last one they begin anew.
            nextTargetID = id > Int32.max - 2 ? 1 : id + 2
            targetIDs[path] = id
            resolutions[id] = Resolution(path: path)
            requests.append(.listen(Self.data(id, path)))
        }
        if queueHead == queue.count || queueHead > 1_000 {
            queue.removeFirst(queueHead)
            queueHead = 0
        }
    }
}
