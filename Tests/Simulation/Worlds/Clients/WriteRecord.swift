import LarderModel

/// A write that a client was asked for, and all that is known of what became of it.
final class WriteRecord: CustomStringConvertible, @unchecked Sendable {
    // One thread runs a world.

    /// What has become of a write, as its client has told.
    enum State {
        /// The client was asked, and has not answered; it never will when it has ended since.
        case asked
        /// It is in the queue.
        case pending(batchID: Int64)
        /// It is not in the queue any more, and was committed or refused; who waited for it is
        /// gone.
        case left
        case acknowledged
        case rejected(LarderError)
        case cancelled
        /// It never came into the queue.
        case refused(LarderError)
    }

    /// The number that the world gave it.
    let number: Int
    let mutations: [Mutation]
    /// Whose it is, since it came into the queue.
    var userID = ""
    /// The client's clock when it was made, which no other of its writes has.
    var time = Timestamp.epoch
    var state = State.asked
    /// Whether its client has ended since it was queued, so that no completion is called.
    var isOrphan = false
    /// How often it was sent.
    var sendCount = 0
    /// The versions of the commits that it was made in.
    var commits: [SnapshotVersion] = []
    /// How often the backend has refused it.
    var refusalCount = 0

    /// A write that a client is asked for.
    init(number: Int, _ mutations: [Mutation]) {
        self.number = number
        self.mutations = mutations
    }

    /// Whether it may still be sent.
    var isPending: Bool {
        switch state {
        case .asked, .pending: true
        default: false
        }
    }

    /// Whether it is in the queue.
    var isInQueue: Bool { batchID != nil }

    /// Its batch's id while it is in the queue.
    var batchID: Int64? {
        if case .pending(let id) = state { id } else { nil }
    }

    /// Whether the backend can tell it from other writes.
    var isNumbered: Bool { mutations.contains { $0.writeNumber != nil } }

    var description: String {
        "write \(number) (\(state), sent \(sendCount) times, commits \(commits), "
            + "refused \(refusalCount) times)"
    }
}

extension Mutation {
    /// The field that tells a write from all others.
    static let writeNumberField = "w"

    /// The number of the write that this is part of; nil for a delete.
    var writeNumber: Int? {
        guard case .integer(let number)? = record?.fields[Self.writeNumberField] else {
            return nil
        }
        return Int(number)
    }

    /// What it does, in one line.
    var text: String {
        let transforms = transforms.map { "\($0.path) \($0.operation)" }
        return "\(summary) \(record?.fields ?? [:]) \(precondition) \(transforms)"
    }

    /// What it is, in short.
    var summary: String {
        let kind =
            switch operation {
            case .set: "set"
            case .patch: "patch"
            case .delete: "delete"
            case .verify: "verify"
            }
        return "\(kind) \(path) #\(writeNumber ?? 0)"
    }
}
