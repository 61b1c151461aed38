package import LarderModel
package import LarderQuery
package import LarderRemote

/// The targets of the active queries, each with the views that share it.
struct ActiveTargets: Sendable {
    struct Entry: Sendable {
        var data: TargetData
        /// Its views: two for the same limit counted from either end.
        var views: [ViewID]
        /// Whether it is listened to at the backend.
        var isRemote = false
    }

    private struct Use: Sendable {
        var views: [ViewID]
        var isRemote = false
    }

    private(set) var data: [Int32: TargetData] = [:]
    private var uses: [Int32: Use] = [:]
    private var ids: [QueryTarget: Int32] = [:]
    private var idsByView: [ViewID: Int32] = [:]

    subscript(id: Int32) -> Entry? {
        guard let data = data[id], let use = uses[id] else { return nil }
        return Entry(data: data, views: use.views, isRemote: use.isRemote)
    }

    func id(of view: ViewID) -> Int32? { idsByView[view] }

    func data(of target: QueryTarget) -> TargetData? {
        ids[target].flatMap { data[$0] }
    }

    func views(of id: Int32) -> [ViewID] { uses[id]?.views ?? [] }

    /// - Returns: whether it is the target's first view.
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

    /// - Returns: the view's target; nil for a view without one.
    mutating func detach(_ view: ViewID) -> Int32? {
        guard let id = idsByView.removeValue(forKey: view) else { return nil }
        uses[id]?.views.removeAll { $0 == view }
        return id
    }

    /// Removes a target without views.
    mutating func remove(_ id: Int32) {
        uses[id] = nil
        guard let data = data.removeValue(forKey: id) else { return }
        ids[data.target] = nil
    }

    mutating func update(_ told: [Int32: TargetData]) {
        for (id, told) in told where data[id] != nil { data[id] = told }
    }

    mutating func replaceAll(_ told: [Int32: TargetData]) {
        if told.count == data.count { data = told } else { update(told) }
    }

    /// Notes that none of a target's documents is in limbo.
    mutating func noteSynced(_ id: Int32) {
        guard let version = data[id]?.snapshotVersion else { return }
        data[id]?.limboFreeVersion = version
    }

    /// Discards a target's token and versions.
    mutating func forgetContents(of id: Int32) {
        data[id]?.resumeToken = []
        data[id]?.snapshotVersion = .none
        data[id]?.limboFreeVersion = .none
    }

    mutating func setRemote(_ id: Int32, _ isRemote: Bool) {
        uses[id]?.isRemote = isRemote
    }
}

/// A target and its state at the backend.
package struct TargetData: Sendable, Equatable {
    /// Even for queries, odd for limbo resolution.
    package let id: Int32
    private let question: Question
    package var purpose: WatchTarget.Purpose
    /// Empty before the first one.
    package var resumeToken: [UInt8]
    /// The snapshot of the token.
    package var snapshotVersion: SnapshotVersion
    /// The last snapshot without documents in limbo.
    package var limboFreeVersion: SnapshotVersion
    /// The snapshot of the stored token; none if unknown.
    ///
    /// Not part of the target's equality.
    var storedVersion = SnapshotVersion.none

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

    package static func == (left: TargetData, right: TargetData) -> Bool {
        left.id == right.id && left.question == right.question && left.purpose == right.purpose
            && left.resumeToken == right.resumeToken
            && left.snapshotVersion == right.snapshotVersion
            && left.limboFreeVersion == right.limboFreeVersion
    }

    package var target: QueryTarget { question.target }

    /// The document of a target of one document; nil for other targets.
    var document: DocumentPath? {
        if case .document(let path) = target.source { path } else { nil }
    }
}

/// The immutable query of a target, boxed because targets are copied often.
private final class Question: Sendable, Equatable {
    let target: QueryTarget

    init(_ target: QueryTarget) {
        self.target = target
    }

    static func == (left: Question, right: Question) -> Bool {
        left === right || left.target == right.target
    }
}
