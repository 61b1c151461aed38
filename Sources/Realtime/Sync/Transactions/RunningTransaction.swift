package import LarderRealtimeModel

/// The number of a transaction; later transactions have larger ones.
package struct TransactionID: Hashable, Comparable, Sendable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: TransactionID, right: TransactionID) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A transaction whose update was run, as it is stored: enough to send it after a restart, without
/// its update.
package struct SavedTransaction: Equatable, Sendable {
    package let id: TransactionID
    package let path: TreePath
    /// The hash of the data that the update was given.
    package let baseHash: String
    /// The update's result, with its server values.
    package let output: Node
    /// True if listeners see the output before the server has accepted it.
    package let isVisible: Bool

    package init(
        _ id: TransactionID, at path: TreePath, baseHash: String, output: Node, isVisible: Bool
    ) {
        self.id = id
        self.path = path
        self.baseHash = baseHash
        self.output = output
        self.isVisible = isVisible
    }
}

/// A transaction that has not ended.
struct RunningTransaction: Sendable {
    enum State: Sendable {
        /// The update is to be run, for the first time or again.
        case waiting
        /// The update was called with some input.
        case running(Node)
        /// The output is to be sent.
        case ready
        /// The output was sent in a put.
        case sent(TransactionPutID)
        /// The same; if the server does not accept the put, the transaction ends with the error
        /// instead of being run again.
        case sentLast(TransactionPutID, LarderError)
        /// The output is out of date, and there is no update to run: the transaction is one of an
        /// earlier run of the application.
        case parked
    }

    /// The last result of the update, which is a pending write.
    struct Result: Sendable {
        /// The input of the update; nil after a restart.
        let input: Node?
        let baseHash: String
        /// Its result, with server values.
        let output: Node
        var write: WriteID
        /// True if other data was there when the output was to be sent.
        var isStale = false
    }

    let id: TransactionID
    let path: TreePath
    let isVisible: Bool
    /// False for a transaction of an earlier run of the application.
    var hasUpdate: Bool
    var state = State.waiting
    var result: Result?
    /// How often the output was sent, or was out of date when the update had returned it.
    var attempts = 0

    var isReady: Bool {
        if case .ready = state { true } else { false }
    }

    /// True if the server has the output, or is to have it before any other.
    var isSent: Bool {
        switch state {
        case .sent, .sentLast: true
        case .waiting, .running, .ready, .parked: false
        }
    }
}
