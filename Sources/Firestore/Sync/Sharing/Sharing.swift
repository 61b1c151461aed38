/// How a client shares its store with other clients, in this process or others.
///
/// One of them, the primary, has the network for all; the others read, write and listen through
/// the store. Clients of one store must all share it.
package struct Sharing: Sendable {
    /// What tells this client from others; never used again.
    package var clientID: String

    /// How clients hear of each other's commits; nil for a watch on the store's file, which the
    /// clients of several processes need.
    package var signal: (any StoreSignal)?

    /// Whether somebody looks at the client, who then is preferred as primary.
    package var isForeground: Bool

    /// A client with an id of its own.
    package init(
        clientID: String = Sharing.newClientID(), signal: (any StoreSignal)? = nil,
        isForeground: Bool = true
    ) {
        self.clientID = clientID
        self.signal = signal
        self.isForeground = isForeground
    }

    /// An id that no other client has.
    package static func newClientID() -> String {
        let digits = "0123456789abcdefghijklmnopqrstuvwxyz"
        return String((0..<20).compactMap { _ in digits.randomElement() })
    }
}
