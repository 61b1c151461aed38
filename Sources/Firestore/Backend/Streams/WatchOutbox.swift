import DequeModule
import LarderModel
import LarderRemote

/// The outgoing messages of a watch stream, in order.
///
/// Targets are loaded one after the other, in pages, interleaved with snapshots of all changes up
/// to a commit. Later changes wait for the next snapshot. Nothing is prepared before the client
/// demands it.
struct WatchOutbox {
    /// The next step.
    enum Step {
        case response(WatchResponse)
        case change(PendingChanges.Change)
        /// Read and send documents of a target, and finish the page with their number.
        case page(targetID: Int32, [DocumentPath])
        case snapshot
        /// Wait for an event.
        case nothing
    }

    /// The end of a snapshot.
    struct Ending {
        let version: SnapshotVersion
        let token: [UInt8]
        /// The existence filters of resumed targets.
        let filters: [(targetID: Int32, response: WatchResponse)]
    }

    private struct Load {
        let targetID: Int32
        var rest: ArraySlice<DocumentPath>
    }

    private var ready: Deque<WatchResponse> = []
    private var readyBytes = 0
    /// The changes of the current snapshot, in reverse order.
    private var sending: [PendingChanges.Change] = []
    private var sendingBytes = 0
    private var ending: Ending?
    /// Changes since the current snapshot.
    private var changes = PendingChanges()
    private var loads: [Load] = []
    /// Loaded targets, which become current with the next snapshot.
    private(set) var loaded: [Int32] = []
    private var current: [Int32] = []
    private var isPageNext = true
    /// Whether to send the read time even without changes.
    private var tellsTime = false

    /// The commit of the last snapshot; none before the first.
    private(set) var lastSnapshot = SnapshotVersion.none

    func isCurrent(_ targetID: Int32) -> Bool { current.contains(targetID) }

    // MARK: Input

    /// The number of responses that wait for demand.
    var readyCount: Int { ready.count }

    mutating func say(_ response: WatchResponse) {
        ready.append(response)
        readyBytes += response.sizeBytes
    }

    mutating func load(_ targetID: Int32, _ paths: [DocumentPath]) {
        loads.append(Load(targetID: targetID, rest: paths[...]))
    }

    mutating func tell(_ effect: WatchEffect, to targetID: Int32) {
        changes.add(effect, to: targetID)
    }

    /// Whether changes wait for the next snapshot.
    var hasChanges: Bool { !changes.isEmpty }

    /// The bytes of responses and changes that are not sent, and of the names of documents to be
    /// sent.
    var heldBytes: Int {
        readyBytes + changes.bytes + sendingBytes
            + loads.reduce(0) { $0 + $1.rest.count * PendingChanges.Change.ownBytes }
    }

    /// Updates a document for which a change is pending.
    mutating func refresh(_ document: Document) {
        changes.refresh(document)
    }

    /// Requests a read time if there are current targets.
    mutating func tellTime() {
        tellsTime = !current.isEmpty
    }

    /// Removes everything that concerns a target.
    mutating func drop(_ targetID: Int32) {
        for position in sending.indices { sending[position].drop(targetID) }
        changes.drop(targetID)
        loads.removeAll { $0.targetID == targetID }
        loaded.removeAll { $0 == targetID }
        current.removeAll { $0 == targetID }
    }

    // MARK: Output

    /// The next step.
    ///
    /// - Parameter limit: the maximum size of a page.
    mutating func next(limit: Int) -> Step {
        if let response = ready.popFirst() {
            readyBytes -= response.sizeBytes
            return .response(response)
        }
        while let change = sending.popLast() {
            sendingBytes -= change.bytes
            if !change.isEmpty { return .change(change) }
        }
        if let ending {
            self.ending = nil
            finish(ending)
            return next(limit: limit)
        }
        while let load = loads.first, load.rest.isEmpty {
            loaded.append(loads.removeFirst().targetID)
        }
        guard !loads.isEmpty else {
            guard loaded.isEmpty, changes.isEmpty, !tellsTime else { return .snapshot }
            // Most streams are idle; free the buffers.
            (ready, sending, loads) = ([], [], [])
            return .nothing
        }
        guard loaded.isEmpty, isPageNext || current.isEmpty || changes.isEmpty else {
            return .snapshot
        }
        isPageNext = false
        return .page(targetID: loads[0].targetID, Array(loads[0].rest.prefix(limit)))
    }

    /// Removes the first documents of the last page, which have been read.
    mutating func finishPage(_ count: Int) {
        loads[0].rest.removeFirst(count)
    }

    /// Begins a snapshot with all pending changes; loaded targets become current with it.
    mutating func beginSnapshot(_ ending: Ending) {
        sending = changes.take().reversed()
        sendingBytes = sending.reduce(0) { $0 + $1.bytes }
        self.ending = ending
        tellsTime = false
        isPageNext = true
        lastSnapshot = ending.version
    }

    private mutating func finish(_ ending: Ending) {
        for filter in ending.filters where loaded.contains(filter.targetID) {
            say(filter.response)
        }
        let (new, old) = (loaded, current)
        loaded = []
        current += new
        if !new.isEmpty {
            say(.targets(TargetChange(.current, targetIDs: new, resumeToken: ending.token)))
        }
        // A global token would also resume targets that are not yet loaded.
        if !loads.isEmpty, !old.isEmpty {
            say(.targets(TargetChange(.none, targetIDs: old, resumeToken: ending.token)))
        }
        say(
            .targets(
                TargetChange(
                    .none, resumeToken: loads.isEmpty ? ending.token : [],
                    readTime: ending.version)))
    }
}

/// The changes to be sent on a stream, coalesced to the last one per document.
struct PendingChanges {
    /// A document with the targets that it has joined or left.
    struct Change {
        let path: DocumentPath
        /// The document; nil if it is unknown.
        var document: Document?
        /// The targets that contain the document.
        var joined: [Int32] = []
        /// The targets that do not contain the document.
        var left: [Int32] = []
        /// Whether the document has changed; otherwise it only left targets.
        var isChanged: Bool
    }

    private var changes: [Change] = []
    /// The bytes of the changes.
    private(set) var bytes = 0
    private var positions: [DocumentPath: Int] = [:]

    var isEmpty: Bool { changes.isEmpty }

    mutating func add(_ effect: WatchEffect, to targetID: Int32) {
        let path = effect.document.path
        guard let position = positions[path] else {
            positions[path] = changes.count
            var change = Change(
                path: path, document: effect.document, isChanged: effect.isChanged)
            change.add(targetID, isMember: effect.isMember)
            changes.append(change)
            bytes += change.bytes
            return
        }
        bytes -= changes[position].bytes
        defer { bytes += changes[position].bytes }
        changes[position].drop(targetID)
        changes[position].add(targetID, isMember: effect.isMember)
        changes[position].document = effect.document
        changes[position].isChanged = changes[position].isChanged || effect.isChanged
    }

    /// Updates a document for which a change is pending.
    mutating func refresh(_ document: Document) {
        guard let position = positions[document.path] else { return }
        bytes -= changes[position].bytes
        defer { bytes += changes[position].bytes }
        changes[position].document = document
        changes[position].isChanged = true
    }

    mutating func drop(_ targetID: Int32) {
        for position in changes.indices { changes[position].drop(targetID) }
    }

    /// Removes and returns the changes, earliest first.
    mutating func take() -> [Change] {
        defer { self = PendingChanges() }
        return changes.filter { !$0.isEmpty }
    }
}

extension PendingChanges.Change {
    /// The size without the document.
    static let ownBytes = 128

    /// The approximate size in memory, with the document decompressed; decompresses nothing.
    var bytes: Int { Self.ownBytes + (document?.record?.memoryBytes ?? 0) }

    /// Whether no target is affected.
    var isEmpty: Bool { joined.isEmpty && left.isEmpty }

    /// Adds a target that contains, or does not contain, the document.
    mutating func add(_ targetID: Int32, isMember: Bool) {
        if isMember { joined.append(targetID) } else { left.append(targetID) }
    }

    mutating func drop(_ targetID: Int32) {
        joined.removeAll { $0 == targetID }
        left.removeAll { $0 == targetID }
    }
}
