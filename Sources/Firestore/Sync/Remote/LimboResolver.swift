import LarderModel
import LarderQuery
import LarderRemote

/// Resolves documents in limbo by asking the backend for them, a bounded number at a time.
///
/// A pure machine: the owner reports events and sends what ``takeRequests()`` returns.
struct LimboResolver: Sendable {
    /// A request for the backend.
    enum Request: Sendable {
        /// Watch a document's target.
        case listen(TargetData)
        /// Stop watching it.
        case unlisten(Int32)
    }

    private struct Resolution {
        let path: DocumentPath
        /// True if the backend has reported that the document exists.
        var hasDocument = false
    }

    private let limit: Int
    /// The targets in whose views each document is in limbo.
    private var holders: [DocumentPath: Set<Int32>] = [:]
    private var pathsOfHolder: [Int32: Set<DocumentPath>] = [:]
    private var resolutions: [Int32: Resolution] = [:]
    private var targetIDs: [DocumentPath: Int32] = [:]
    /// Waiting documents, with their place in the queue.
    private var places: [DocumentPath: UInt64] = [:]
    /// Oldest first; entries that are no longer in ``places`` are skipped.
    private var queue: [(path: DocumentPath, place: UInt64)] = []
    private var queueHead = 0
    private var lastPlace: UInt64 = 0
    private var nextTargetID: Int32 = 1
    private var requests: [Request] = []

    /// Creates a resolver.
    ///
    /// - Parameter limit: the maximum number of documents asked for at a time.
    init(limit: Int) {
        self.limit = limit
    }

    /// The documents being asked for, with their targets.
    var active: [DocumentPath: Int32] { targetIDs }

    /// The waiting documents, in order.
    var waiting: [DocumentPath] {
        queue[queueHead...].filter { places[$0.path] == $0.place }.map(\.path)
    }

    /// The document of a limbo target.
    func path(of targetID: Int32) -> DocumentPath? { resolutions[targetID]?.path }

    /// A limbo target as it is requested from the backend.
    func data(of targetID: Int32) -> TargetData? {
        resolutions[targetID].map { Self.data(targetID, $0.path) }
    }

    /// The document of a limbo target, if the backend has reported that it exists.
    func document(of targetID: Int32) -> DocumentPath? {
        resolutions[targetID].flatMap { $0.hasDocument ? $0.path : nil }
    }

    /// The requests since the last call.
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

    /// A target's last view has ended.
    mutating func releaseAll(of targetID: Int32) {
        for path in (pathsOfHolder[targetID] ?? []).sorted() { release(path, targetID) }
    }

    /// Applies an event's changes of limbo targets.
    mutating func update(by changes: [Int32: RemoteTargetChange]) {
        guard !resolutions.isEmpty else { return }
        for (id, change) in changes {
            if !change.added.isEmpty { resolutions[id]?.hasDocument = true }
            if !change.removed.isEmpty { resolutions[id]?.hasDocument = false }
        }
    }

    /// The backend has ended a target itself; no request is needed.
    mutating func reject(_ targetID: Int32) {
        guard let resolution = resolutions.removeValue(forKey: targetID) else { return }
        targetIDs[resolution.path] = nil
        startResolutions()
    }

    /// Forgets everything without requests to the backend.
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
        startResolutions()
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
        startResolutions()
    }

    private static func data(_ id: Int32, _ path: DocumentPath) -> TargetData {
        TargetData(id: id, target: Query(.document(path)).target, purpose: .limboResolution)
    }

    private mutating func startResolutions() {
        while targetIDs.count < limit, queueHead < queue.count {
            let (path, place) = queue[queueHead]
            queueHead += 1
            guard places[path] == place else { continue }
            places[path] = nil
            let id = nextTargetID
            // Limbo targets have odd ids, which wrap around.
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
