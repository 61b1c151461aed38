package import LarderRealtimeModel

/// The result of a write that the server has accepted, which waits for the client that keeps the
/// cache of the store.
package struct AcceptedWrite: Equatable, Sendable {
    package let id: WriteID
    /// The nodes that the write has replaced, by their paths from the root, in their order.
    package let values: [PathValue]
    /// False if the server has computed some of the values: they are a guess.
    package let isExact: Bool

    package init(_ id: WriteID, _ values: [PathValue], isExact: Bool) {
        self.id = id
        self.values = values
        self.isExact = isExact
    }
}
