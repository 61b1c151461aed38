import LarderRealtimeModel
import LarderRealtimeRemote

/// A backend's state of one connection.
final class BackendSession {
    /// The order in which sessions began.
    let number: UInt64
    /// The name that the client refers to the session by.
    let id: String
    let channel: Channel
    /// The authenticated user; nil for none.
    var user: RealtimeUser?
    /// Cancels the timer of the user's token.
    var cancelExpiration: (@Sendable () -> Void)?
    var listens: Set<ListenKey> = []
    /// The windows that are to be sent, and the answers behind them.
    var unsent = UnsentWindows()
    /// The writes to make when the session ends.
    var operations = SessionOperations()
    /// The stored records of these operations.
    var records: SessionRecords
    /// How many of the operations are made, once the session has ended.
    var madeCount = 0
    /// How many of them are stored.
    var confirmedCount = 0
    /// The size of the operations and listens that is charged to the connection.
    private var chargedBytes = 0

    init(number: UInt64, id: String, channel: Channel) {
        self.number = number
        self.id = id
        self.channel = channel
        records = SessionRecords(ofSession: id)
    }

    /// A session of an earlier run of the server, which has ended.
    convenience init(_ stored: StoredSession) {
        self.init(number: 0, id: stored.id, channel: Channel { _ in })
        operations = stored.operations
        records = SessionRecords(stored)
        (madeCount, confirmedCount) = (stored.madeCount, stored.madeCount)
    }

    /// The memory of a listen.
    private static let listenBytes = 512

    /// Charges what the session holds to the connection.
    func chargeMemory() {
        let bytes = operations.size.bytes + listens.count * Self.listenBytes
        channel.memory?.change(by: bytes - chargedBytes)
        chargedBytes = bytes
    }
}

/// A listen of a session.
struct ListenKey: Hashable {
    let query: QuerySpec
    let tag: Int?
}
