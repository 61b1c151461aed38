import LarderRealtimeModel
import LarderRealtimeSync

/// A write or onDisconnect operation that an application has requested, and its outcome.
final class RequestRecord: CustomStringConvertible, @unchecked Sendable {
    // One thread runs a world.

    enum Kind {
        case write(WriteRequest)
        case arm(DisconnectOperation)
    }

    enum State {
        /// Requested; not committed yet.
        case asked
        /// A write in the queue.
        case pending(WriteID)
        case acknowledged
        case rejected(LarderError)
        case cancelled
        /// The write was not committed.
        case notMade
        /// Gone from the queue; its completion was lost with an earlier process.
        case left
    }

    /// The place in the order of the client's requests.
    let order: Int
    let kind: Kind
    var state = State.asked
    /// The ID of a write, kept after it was settled.
    var id: WriteID?
    /// True if the process that requested it has ended.
    var isOrphan = false
    /// True if an answer has reached the client or a cancellation was requested.
    var mayBeAnswered = false
    /// True if its removal from the queue on disk is not committed yet: a crash may restore it.
    var mayReturn = false
    /// True if a later write is sent in its place.
    var isMerged = false
    /// How often it was sent, received by the server and applied by it.
    var sendings = 0
    var arrivals = 0
    var applications = 0
    /// The version of the server's tree that its last application led to.
    var version: Int?
    private(set) var refusals = 0
    /// How often it was denied although the client was authenticated.
    private(set) var refusalsByLocks = 0

    init(_ order: Int, _ kind: Kind) {
        (self.order, self.kind) = (order, kind)
    }

    func refuse(_ denial: TreeRules.Denial) {
        refusals += 1
        if denial == .locked { refusalsByLocks += 1 }
    }

    /// True while it may be sent.
    var isOpen: Bool {
        switch state {
        case .asked, .pending: true
        default: false
        }
    }

    /// True while it is in the queue on disk.
    var isPending: Bool {
        if case .pending = state { true } else { false }
    }

    /// The write; nil for an onDisconnect operation.
    var write: WriteRequest? {
        if case .write(let request) = kind { request } else { nil }
    }

    var description: String {
        let text =
            switch kind {
            case .write(let write): write.text
            case .arm(let operation): operation.text
            }
        return "request \(order) \(text) (\(state), sent \(sendings), arrived \(arrivals), "
            + "applied \(applications), refused \(refusals))"
    }
}
