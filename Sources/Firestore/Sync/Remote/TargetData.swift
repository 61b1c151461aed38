package import LarderModel
package import LarderQuery
package import LarderRemote

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
