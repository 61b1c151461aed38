package import LarderRealtimeModel

/// A write as it waits in the store to be sent, with its server values unresolved.
package struct StoredWrite: Equatable, Sendable {
    /// The change that a write makes.
    package enum Content: Equatable, Sendable {
        /// Replaces the content of a location.
        case overwrite(TreePath, Node)
        /// Replaces the content of several places below a location.
        case merge(TreePath, [PathValue])
        /// Replaces the content of a location if it still is what a transaction has read.
        case transaction(StoredTransaction)
    }

    /// The write's number; later writes have larger ones.
    package let id: Int64
    /// When it was made, by the local clock.
    package let time: Timestamp
    package var content: Content

    package init(_ id: Int64, at time: Timestamp, _ content: Content) {
        self.id = id
        self.time = time
        self.content = content
    }
}

/// A transaction that has run, without its update.
package struct StoredTransaction: Equatable, Sendable {
    package let path: TreePath
    /// The hash of the data that the update was given.
    package let baseHash: String
    /// The update's result, with its server values.
    package let output: Node
    /// True if listeners see the output before the server has accepted it.
    package let isVisible: Bool
    /// True if it was sent, so that the server may have accepted it.
    package var wasSent: Bool

    package init(
        at path: TreePath, baseHash: String, output: Node, isVisible: Bool, wasSent: Bool
    ) {
        self.path = path
        self.baseHash = baseHash
        self.output = output
        self.isVisible = isVisible
        self.wasSent = wasSent
    }
}

/// A write that is not sent any more: the server has refused it, or it had no handler.
package struct RefusedWrite: Equatable, Sendable {
    package let write: StoredWrite
    package let error: LarderError
    /// When it was refused, by the local clock.
    package let time: Timestamp

    package init(_ write: StoredWrite, _ error: LarderError, at time: Timestamp) {
        self.write = write
        self.error = error
        self.time = time
    }
}
