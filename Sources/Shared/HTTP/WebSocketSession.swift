package import LarderCore
package import NIOCore

/// A service's end of a WebSocket: messages received, messages to send, and deadlines.
///
/// Confined to the event loop of its connection, which reports everything that happens and then
/// asks for what is to be sent, as far as the client takes it.
package protocol WebSocketSession: AnyObject {
    /// The connection is open.
    ///
    /// - Parameters:
    ///   - memory: the account of the connection.
    ///   - wake: to be called on the event loop after an event of the service, such as a
    ///     message to send; it has no effect once the connection is closed.
    func begin(_ memory: MemoryAccount, _ wake: @escaping () -> Void)

    /// The client has sent a text message.
    func receive(_ text: [UInt8])

    /// The client has sent something that is no text.
    func receiveOther()

    /// The next message to send, or the end; nil if nothing waits.
    ///
    /// Called only while the client takes what is sent.
    func next() -> WebSocketOutput?

    /// True while more may be read from the client.
    var wantsInput: Bool { get }

    /// The memory that the session holds by itself.
    var heldBytes: Int { get }

    /// The size of what waits to be sent, and is charged where it is held.
    var keptBytes: Int { get }

    /// When ``reachDeadline()`` is to be called; nil for never. Later events may postpone it.
    var deadline: NIODeadline? { get }

    /// The time of ``deadline`` may have come.
    func reachDeadline()

    /// The connection is closed. Called exactly once, last.
    func close()
}

/// What a session sends.
package enum WebSocketOutput: Equatable, Sendable {
    case text(ArraySlice<UInt8>)
    /// The end of the connection.
    case close
}

/// Makes the session of an accepted WebSocket, on its event loop.
package typealias WebSocketOpening = @Sendable (any EventLoop) -> any WebSocketSession

/// Accepts the WebSocket that a request asks for; nil if it is to be answered as any other request.
package typealias WebSocketAcceptance = @Sendable (HTTPRequest) async -> WebSocketOpening?
