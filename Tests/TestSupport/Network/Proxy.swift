package import LarderSharedTestSupport
import NIOCore
import NIOPosix

/// A TCP proxy of this machine, between clients and a server, that does what networks do when a
/// test says so.
///
/// Bytes of one direction keep their order. Any thread may call; what is asked for is done when the
/// call returns.
package final class Proxy: Sendable {
    /// Which way bytes go.
    package enum Direction: CaseIterable, Sendable {
        case toServer
        case toClient
    }

    /// Where clients connect to, at 127.0.0.1.
    package let port: Int
    /// How many connections there are now.
    package let connections: Awaited<Int>
    /// How many connections ``strand(after:)`` has broken.
    package let strandedCount: Awaited<Int>
    /// How often the server has sent something on such connections.
    package let lateAnswerCount: Awaited<Int>
    private let loop: any EventLoop
    private let listener: any Channel
    private let board: ProxyBoard

    private init(_ loop: any EventLoop, _ board: ProxyBoard, _ listener: any Channel) {
        self.loop = loop
        self.board = board
        self.listener = listener
        connections = board.connections
        strandedCount = board.strandedCount
        lateAnswerCount = board.lateAnswerCount
        port = listener.localAddress?.port ?? 0
    }

    /// Starts a proxy before a server, which need not be there yet.
    package static func started(to host: String = "127.0.0.1", port: Int) async throws -> Proxy {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let board = ProxyBoard(loop, host: host, port: port)
        let listener = try await ServerBootstrap(group: loop)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { board.accept($0) }
            .bind(host: "127.0.0.1", port: 0).get()
        return Proxy(loop, board, listener)
    }

    /// Breaks all connections.
    package func cut() async {
        await order { $0.cut() }
    }

    /// Breaks all connections once so many more bytes have gone one way.
    package func cut(after byteCount: Int, _ direction: Direction) async {
        await order { $0.cut(after: byteCount, direction) }
    }

    /// Lets no new connection come about, until ``heal()``.
    package func refuse() async {
        await order { $0.isRefusing = true }
    }

    /// Keeps what goes one way, until ``release()``.
    package func hold(_ direction: Direction) async {
        await order { $0.held.insert(direction) }
    }

    /// Forwards what was held back.
    package func release() async {
        await order { $0.release() }
    }

    /// Withholds what clients send on the present connections until ``deliver()``, and resets the
    /// client's end of each after so many more bytes; the server's end stays open.
    package func strand(after byteCount: Int) async {
        await order { $0.strand(after: byteCount) }
    }

    /// Forwards what clients have sent on stranded connections.
    package func deliver() async {
        await order { $0.deliver() }
    }

    /// Makes what goes one way vanish: in the connections that there are as long as they last, and
    /// in those that come until ``heal()``.
    ///
    /// The end of a connection vanishes as well, so that neither end is notified.
    package func swallow(_ directions: [Direction]) async {
        await order { $0.swallow(directions) }
    }

    /// Lets everything through again, but for the connections of which something has vanished.
    package func heal() async {
        await order { $0.heal() }
    }

    /// Breaks all connections, and listens no more.
    package func close() async {
        try? await listener.close().get()
        await order { board in
            board.isRefusing = true
            board.cut()
        }
    }

    private func order(_ body: @escaping @Sendable (ProxyBoard) -> Void) async {
        let board = board
        try? await loop.submit { body(board) }.get()
    }
}

extension Proxy.Direction {
    /// One of the ways.
    package static func oneWay(_ random: inout SeededRandom) -> Self {
        random.pick(allCases)
    }

    /// Both ways, or one of them.
    package static func oneWayOrBoth(_ random: inout SeededRandom) -> [Self] {
        random.oneIn(2) ? allCases : [oneWay(&random)]
    }
}
