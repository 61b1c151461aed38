package import LarderModel
package import LarderQuery
package import LarderRemote

/// The targets of the queries that are listened to, each with the views that share it.
struct ActiveTargets: Sendable {
    /// One of them.
    struct Entry: Sendable {
        /// What the backend has said of it.
        var data: TargetData
        /// The views that show it: more than one when a limit counts from either end.
        var views: [ViewID]
        /// Whether the backend is asked for it.
        var isRemote = false
    }

    private struct Use: Sendable {
        var views: [ViewID]
        var isRemote = false
    }

    /// What the backend has said of each.
    private(set) var data: [Int32: TargetData] = [:]
    private var uses: [Int32: Use] = [:]
    private var ids: [QueryTarget: Int32] = [:]
    private var idsByView: [ViewID: Int32] = [:]

    subscript(id: Int32) -> Entry? {
        guard let data = data[id], let use = uses[id] else { return nil }
        return Entry(data: data, views: use.views, isRemote: use.isRemote)
    }

    /// The target that a view shows.
    func id(of view: ViewID) -> Int32? { idsByView[view] }

    /// What the backend has said of an active target.
    func data(of target: QueryTarget) -> TargetData? {
        ids[target].flatMap { data[$0] }
    }

    /// The views of a target; none when it is not active.
    func views(of id: Int32) -> [ViewID] { uses[id]?.views ?? [] }

    /// Adds a view to a target.
    ///
    /// - Returns: whether it is the target's first.
    mutating func attach(_ view: ViewID, to data: TargetData) -> Bool {
        idsByView[view] = data.id
        if uses[data.id] != nil {
            uses[data.id]?.views.append(view)
            return false
        }
        self.data[data.id] = data
        uses[data.id] = Use(views: [view])
        ids[data.target] = data.id
        return true
    }

    /// Takes a view from its target.
    ///
    /// - Returns: the target's number; nil for a view without one.
    mutating func detach(_ view: ViewID) -> Int32? {
        guard let id = idsByView.removeValue(forKey: view) else { return nil }
        uses[id]?.views.removeAll { $0 == view }
        return id
    }

    /// Forgets a target that has no view.
    mutating func remove(_ id: Int32) {
        uses[id] = nil
        guard let data = data.removeValue(forKey: id) else { return }
        ids[data.target] = nil
    }

    /// Takes what the backend has said of some targets.
    mutating func update(_ told: [Int32: TargetData]) {
        for (id, told) in told where data[id] != nil { data[id] = told }
    }

    /// Takes what the backend has said of the targets that there are.
    mutating func replaceAll(_ told: [Int32: TargetData]) {
        if told.count == data.count { data = told } else { update(told) }
    }

    /// Notes that no document of a target is in limbo.
    mutating func noteSynced(_ id: Int32) {
        guard let version = data[id]?.snapshotVersion else { return }
        data[id]?.limboFreeVersion = version
    }

    /// Forgets what the backend has said of a target.
    mutating func forgetContents(of id: Int32) {
        data[id]?.resumeToken = []
        data[id]?.snapshotVersion = .none
        data[id]?.limboFreeVersion = .none
    }

    /// Notes whether the backend is asked for a target.
    mutating func setRemote(_ id: Int32, _ isRemote: Bool) {
        uses[id]?.isRemote = isRemote
    }
}

/// A target with what the backend has said of it as a whole.
package struct TargetData: Sendable, Equatable {
    /// Its number: even for those of queries, odd for those that resolve limbo.
    package let id: Int32
    private let question: Question
    /// What it is watched for.
    package var purpose: WatchTarget.Purpose
    /// What resumes it; empty for nothing.
    package var resumeToken: [UInt8]
    /// The snapshot that the token is from.
    package var snapshotVersion: SnapshotVersion
    /// The last snapshot at which no document of it was in limbo.
    package var limboFreeVersion: SnapshotVersion
    /// The snapshot that the token in the store is from; none where that is not known.
    ///
    /// It says nothing of the target: two that differ in it alone are equal.
    var storedVersion = SnapshotVersion.none

    /// A target that the backend has said nothing of, or something.
    package init(
        id: Int32, target: QueryTarget, purpose: WatchTarget.Purpose = .listen,
        resumeToken: [UInt8] = [], snapshotVersion: SnapshotVersion = .none,
        limboFreeVersion: SnapshotVersion = .none
    ) {
        self.id = id
        question = Question(target)
        self.purpose = purpose
        self.resumeToken = resumeToken
        self.snapshotVersion = snapshotVersion
        self.limboFreeVersion = limboFreeVersion
    }

    /// Whether both say the same of the same target.
    package static func == (left: TargetData, right: TargetData) -> Bool {
        left.id == right.id && left.question == right.question && left.purpose == right.purpose
            && left.resumeToken == right.resumeToken
            && left.snapshotVersion == right.snapshotVersion
            && left.limboFreeVersion == right.limboFreeVersion
    }

    /// What is asked.
    package var target: QueryTarget { question.target }

    /// The document that is asked for; nil for a target of any other kind.
    var document: DocumentPath? {
        if case .document(let path) = target.source { path } else { nil }
    }
}

/// What is asked, in a box: a target is copied often, and never asks anything else.
private final class Question: Sendable, Equatable {
    let target: QueryTarget

    init(_ target: QueryTarget) {
        self.target = target
    }

    static func == (left: Question, right: Question) -> Bool {
        left === right || left.target == right.target
    }
}
