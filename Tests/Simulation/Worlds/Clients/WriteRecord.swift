import LarderModel

/// A requested write and its known history.
final class WriteRecord: CustomStringConvertible, @unchecked Sendable {
    // One thread runs a world.

    /// The state of a write according to its client.
    enum State {
        /// It was requested and has no answer; there will be none if the client has ended since.
        case asked
        /// It is in the queue.
        case pending(batchID: Int64)
        /// It has left the queue, committed or refused, and no completion was called.
        case left
        case acknowledged
        case rejected(LarderError)
        case cancelled
        /// It was never queued.
        case refused(LarderError)
    }

    /// Its number in the world.
    let number: Int
    let mutations: [Mutation]
    /// Its user, once it is queued.
    var userID = ""
    /// The client's unique time of the write.
    var time = Timestamp.epoch
    var state = State.asked
    /// Whether its client has ended since it was queued, so that no completion is called.
    var isOrphan = false
    /// The count of times it was sent.
    var sendCount = 0
    /// The versions of its commits.
    var commits: [SnapshotVersion] = []
    /// The count of refusals by the backend.
    var refusalCount = 0

    /// A requested write.
    init(number: Int, _ mutations: [Mutation]) {
        self.number = number
        self.mutations = mutations
    }

    /// True if it may still be sent.
    var isPending: Bool {
        switch state {
        case .asked, .pending: true
        default: false
        }
    }

    /// True if it is in the queue.
    var isInQueue: Bool { batchID != nil }

    /// Its batch's id while it is in the queue.
    var batchID: Int64? {
        if case .pending(let id) = state { id } else { nil }
    }

    /// True if the backend can distinguish it from other writes.
    var isNumbered: Bool { mutations.contains { $0.writeNumber != nil } }

    var description: String {
        "write \(number) (\(state), sent \(sendCount) times, commits \(commits), "
            + "refused \(refusalCount) times)"
    }
}

extension Mutation {
    /// The field that identifies a write.
    static let writeNumberField = "w"

    /// The number of the mutation's write; nil for a delete.
    var writeNumber: Int? {
        guard case .integer(let number)? = record?.fields[Self.writeNumberField] else {
            return nil
        }
        return Int(number)
    }

    /// The mutation on one line.
    var text: String {
        let transforms = transforms.map { "\($0.path) \($0.operation)" }
        return "\(summary) \(record?.fields ?? [:]) \(precondition) \(transforms)"
    }

    /// The state in a word.
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
