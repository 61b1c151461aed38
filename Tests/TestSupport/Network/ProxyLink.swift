import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One connection through a proxy: a channel to the client, one to the server, and what is on its
/// way between them.
final class ProxyLink: @unchecked Sendable {
    // One event loop uses it.

    private struct Lane {
        var waiting = ByteBuffer()
        var isDeaf = false
        var hasEnded = false
    }

    private let board: ProxyBoard
    private let client: any Channel
    private var server: (any Channel)?
    private var lanes: [Proxy.Direction: Lane] = [:]
    private var isCut = false
    /// How many bytes of the client are still taken, for later; nil unless the link is stranded.
    private var strandAllowance: Int?
    /// True if the client has lost the connection, which the server does not notice.
    private var isLost = false

    init(_ board: ProxyBoard, client: any Channel, deaf: Set<Proxy.Direction>) {
        self.board = board
        self.client = client
        for direction in Proxy.Direction.allCases {
            lanes[direction] = Lane(isDeaf: deaf.contains(direction))
        }
        client.closeFuture.whenComplete { [self] _ in end(.toServer) }
    }

    private func target(_ direction: Proxy.Direction) -> (any Channel)? {
        direction == .toServer ? server : client
    }

    private func source(_ direction: Proxy.Direction) -> (any Channel)? {
        direction == .toServer ? client : server
    }

    /// Has a connection to the server from now on.
    func join(server: any Channel) {
        self.server = server
        server.closeFuture.whenComplete { [self] _ in end(.toClient) }
        // The client may have gone meanwhile without a notification.
        if isCut || lanes[.toServer]?.hasEnded == true { reset(server) } else { pass() }
    }

    /// Takes bytes that have come.
    func take(_ bytes: ByteBuffer, _ direction: Proxy.Direction) {
        if isLost { return board.noteLost(direction) }
        guard lanes[direction]?.isDeaf == false else { return }
        lanes[direction]?.waiting.writeImmutableBuffer(bytes)
        pass(direction)
        guard direction == .toServer, let left = strandAllowance else { return }
        strandAllowance = left - bytes.readableBytes
        guard left <= bytes.readableBytes else { return }
        isLost = true
        reset(client)
        board.noteStranded()
    }

    /// Notes that nothing more comes one way.
    private func end(_ direction: Proxy.Direction) {
        if isLost {
            if direction == .toClient { board.remove(self) }
            return
        }
        lanes[direction]?.hasEnded = true
        if lanes.values.allSatisfy(\.hasEnded) || server == nil { return board.remove(self) }
        pass(direction)
    }

    /// Passes on what may go.
    func pass() {
        for direction in Proxy.Direction.allCases { pass(direction) }
    }

    private func pass(_ direction: Proxy.Direction) {
        guard let target = target(direction), var lane = lanes[direction], !lane.isDeaf,
            !board.held.contains(direction), direction == .toClient || strandAllowance == nil
        else { return }
        let (count, isLast) = board.allow(lane.waiting.readableBytes, direction)
        let bytes = lane.waiting.readSlice(length: count) ?? ByteBuffer()
        lane.waiting.discardReadBytes()
        lanes[direction] = lane
        let isOver = isLast || lane.hasEnded
        guard isOver || count > 0 else { return }
        let written = target.writeAndFlush(bytes)
        guard isOver else { return }
        written.whenComplete { _ in target.close(promise: nil) }
        if isLast { reset(source(direction)) }
    }

    /// Keeps what the client sends, and breaks its end once so many more bytes have come.
    func strand(after byteCount: Int) {
        if lanes[.toServer]?.hasEnded == false { strandAllowance = byteCount }
    }

    /// Passes on what the client has sent since it was stranded.
    func deliver() {
        strandAllowance = nil
        pass(.toServer)
    }

    /// Lets what goes some ways vanish from now on.
    func deafen(_ directions: [Proxy.Direction]) {
        for direction in directions {
            lanes[direction]?.isDeaf = true
            lanes[direction]?.waiting.clear()
        }
    }

    /// Reads what comes one way, or leaves it to the sender's window.
    func setReading(_ isReading: Bool, _ direction: Proxy.Direction) {
        source(direction)?.setOption(.autoRead, value: isReading).cascade(to: nil)
    }

    /// Breaks both ends.
    func cut() {
        isCut = true
        reset(client)
        reset(server)
    }

    /// Closes a channel so that its peer sees an error and not a clean end.
    private func reset(_ channel: (any Channel)?) {
        guard let channel else { return }
        guard let socket = channel as? any SocketOptionProvider else {
            return channel.close(promise: nil)
        }
        socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            .whenComplete { _ in channel.close(promise: nil) }
    }
}

/// One end of a connection: what it reads goes in one direction.
final class ProxyEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let link: ProxyLink
    private let direction: Proxy.Direction

    init(_ link: ProxyLink, _ direction: Proxy.Direction) {
        self.link = link
        self.direction = direction
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        link.take(unwrapInboundIn(data), direction)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let other: Proxy.Direction = direction == .toServer ? .toClient : .toServer
        link.setReading(context.channel.isWritable, other)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
