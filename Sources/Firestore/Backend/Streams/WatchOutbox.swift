import DequeModule
import LarderModel
import LarderRemote

/// What a watch stream is still to say, in the order in which it is said.
///
/// Targets are loaded one after the other, in pages; in between come snapshots, each with all
/// changes up to a commit. What changes meanwhile waits for the next snapshot. Nothing is made
/// ready before the client asks for it.
struct WatchOutbox {
    /// What comes next.
    enum Step {
        /// This is said.
        case response(WatchResponse)
        /// This change is told.
        case change(PendingChanges.Change)
        /// These documents of a target are read and told.
        case page(targetID: Int32, [DocumentPath])
        /// A snapshot is begun.
        case snapshot
        /// Nothing, until something happens.
        case nothing
    }

    /// What ends a snapshot.
    struct Ending {
        /// The commit that it is of.
        let version: SnapshotVersion
        /// What goes on from there.
        let token: [UInt8]
        /// What is said of the documents that clients know of resumed targets.
        let filters: [(targetID: Int32, response: WatchResponse)]
    }

    private struct Load {
        let targetID: Int32
        var rest: ArraySlice<DocumentPath>
    }

    /// What is ready to be said.
    private var ready: Deque<WatchResponse> = []
    /// The changes of the snapshot that has begun, the last one first.
    private var sending: [PendingChanges.Change] = []
    private var ending: Ending?
    /// Changes since that snapshot.
    private var changes = PendingChanges()
    private var loads: [Load] = []
    /// Targets that are loaded and become current with the next snapshot.
    private(set) var loaded: [Int32] = []
    /// Targets that are current.
    private var current: [Int32] = []
    private var isPageNext = true
    /// Whether the client is to hear of the time, also without changes.
    private var tellsTime = false

    /// The commit of the snapshot that has begun last; none before the first.
    private(set) var lastSnapshot = SnapshotVersion.none

    /// Whether a target has become current.
    func isCurrent(_ targetID: Int32) -> Bool { current.contains(targetID) }

    // MARK: What there is to say

    /// How much is ready to be said that the client does not take.
    var readyCount: Int { ready.count }

    /// Says something next.
    mutating func say(_ response: WatchResponse) {
        ready.append(response)
    }

    /// Begins to load a target.
    mutating func load(_ targetID: Int32, _ paths: [DocumentPath]) {
        loads.append(Load(targetID: targetID, rest: paths[...]))
    }

    /// Tells of what has happened to a document in view of a target.
    mutating func tell(_ effect: WatchEffect, to targetID: Int32) {
        changes.add(effect, to: targetID)
    }

    /// Whether changes wait for the next snapshot.
    var hasChanges: Bool { !changes.isEmpty }

    /// Takes in what a document has become, if it is among the changes that wait.
    mutating func refresh(_ document: Document) {
        changes.refresh(document)
    }

    /// Tells of the time, where that is news.
    mutating func tellTime() {
        tellsTime = !current.isEmpty
    }

    /// Forgets what was to be said of a target.
    mutating func drop(_ targetID: Int32) {
        for position in sending.indices { sending[position].drop(targetID) }
        changes.drop(targetID)
        loads.removeAll { $0.targetID == targetID }
        loaded.removeAll { $0 == targetID }
        current.removeAll { $0 == targetID }
    }

    // MARK: Saying it

    /// What comes next.
    ///
    /// - Parameter limit: how many documents a page may have.
    mutating func next(limit: Int) -> Step {
        if !ready.isEmpty { return .response(ready.removeFirst()) }
        while let change = sending.popLast() {
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
            // Most streams are idle most of the time, and need no room for what they said.
            (ready, sending, loads) = ([], [], [])
            return .nothing
        }
        guard loaded.isEmpty, isPageNext || current.isEmpty || changes.isEmpty else {
            return .snapshot
        }
        isPageNext = false
        let page = loads[0].rest.prefix(limit)
        loads[0].rest.removeFirst(page.count)
        return .page(targetID: loads[0].targetID, Array(page))
    }

    /// Begins a snapshot with all changes so far; loaded targets become current with it.
    mutating func beginSnapshot(_ ending: Ending) {
        sending = changes.take().reversed()
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
        // A token for all would resume those, too, that are not loaded yet.
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

/// Changes that a stream is still to tell of, one for each document: of a slow client's changes
/// none but the last is kept.
struct PendingChanges {
    /// A document, as it is now, and the targets that it is in or no longer in.
    struct Change {
        let path: DocumentPath
        /// The document; nil where nothing is known of it.
        var document: Document?
        /// Targets that have it.
        var joined: [Int32] = []
        /// Targets that have it no longer, or not.
        var left: [Int32] = []
        /// Whether the document has changed; else it only went.
        var isChanged: Bool
    }

    private var changes: [Change] = []
    private var positions: [DocumentPath: Int] = [:]

    /// Whether there is nothing to tell.
    var isEmpty: Bool { changes.isEmpty }

    /// Adds what has happened to a document in view of a target.
    mutating func add(_ effect: WatchEffect, to targetID: Int32) {
        let path = effect.document.path
        guard let position = positions[path] else {
            positions[path] = changes.count
            var change = Change(
                path: path, document: effect.document, isChanged: effect.isChanged)
            change.add(targetID, isMember: effect.isMember)
            changes.append(change)
            return
        }
        changes[position].drop(targetID)
        changes[position].add(targetID, isMember: effect.isMember)
        changes[position].document = effect.document
        changes[position].isChanged = changes[position].isChanged || effect.isChanged
    }

    /// Takes in what a document has become, if anything is to be told of it.
    mutating func refresh(_ document: Document) {
        guard let position = positions[document.path] else { return }
        changes[position].document = document
        changes[position].isChanged = true
    }

    /// Forgets a target.
    mutating func drop(_ targetID: Int32) {
        for position in changes.indices { changes[position].drop(targetID) }
    }

    /// The changes, the earliest first; none are left.
    mutating func take() -> [Change] {
        defer { self = PendingChanges() }
        return changes.filter { !$0.isEmpty }
    }
}

extension PendingChanges.Change {
    /// Whether no target is concerned.
    var isEmpty: Bool { joined.isEmpty && left.isEmpty }

    /// Adds a target that the document is in, or not.
    mutating func add(_ targetID: Int32, isMember: Bool) {
        if isMember { joined.append(targetID) } else { left.append(targetID) }
    }

    /// Forgets a target.
    mutating func drop(_ targetID: Int32) {
        joined.removeAll { $0 == targetID }
        left.removeAll { $0 == targetID }
    }
}
