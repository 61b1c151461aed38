import LarderSharedTestSupport
import NIOCore
import NIOPosix

/// What a proxy does at present, and its connections.
final class ProxyBoard: @unchecked Sendable {
    // One event loop uses it.

    /// How many connections there are.
    let connections = Awaited(0)
    /// How many connections were broken whose bytes arrive late.
    let strandedCount = Awaited(0)
    /// How often something has come for clients of such connections.
    let lateAnswerCount = Awaited(0)
    /// Whether new connections are refused.
    var isRefusing = false
    /// Which ways are closed for a while.
    var held: Set<Proxy.Direction> = []
    /// Which ways lead nowhere.
    private var swallowed: Set<Proxy.Direction> = []
    /// How many bytes may go a way before everything is cut.
    private var allowance: [Proxy.Direction: Int] = [:]
    private var links: [ObjectIdentifier: ProxyLink] = [:]
    private let loop: any EventLoop
    private let host: String
    private let port: Int

    init(_ loop: any EventLoop, host: String, port: Int) {
        self.loop = loop
        self.host = host
        self.port = port
    }

    /// Takes a client.
    func accept(_ client: any Channel) -> EventLoopFuture<Void> {
        guard !isRefusing else { return loop.makeFailedFuture(ChannelError.alreadyClosed) }
        let link = ProxyLink(self, client: client, deaf: swallowed)
        links[ObjectIdentifier(link)] = link
        noteCount()
        let isDeaf = swallowed.contains(.toServer)
        return loop.makeCompletedFuture {
            try client.pipeline.syncOperations.addHandler(ProxyEnd(link, .toServer))
        }.flatMap { [self] in
            guard !isDeaf else { return client.setOption(.autoRead, value: true) }
            return connect(link).flatMap { client.setOption(.autoRead, value: true) }
        }
    }

    private func connect(_ link: ProxyLink) -> EventLoopFuture<Void> {
        ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ProxyEnd(link, .toClient))
                }
            }
            .connect(host: host, port: port)
            .map { link.join(server: $0) }
            .flatMapErrorThrowing { error in
                link.cut()
                throw error
            }
    }

    /// Forgets a connection that has ended.
    func remove(_ link: ProxyLink) {
        links[ObjectIdentifier(link)] = nil
        noteCount()
    }

    /// Notes that something has come on a connection whose client has lost it.
    func noteLost(_ direction: Proxy.Direction) {
        if direction == .toClient { lateAnswerCount.change { $0 += 1 } }
    }

    /// Notes that the client's end of a connection was broken whose bytes arrive late.
    func noteStranded() {
        strandedCount.change { $0 += 1 }
    }

    private func noteCount() {
        let count = links.count
        connections.change { $0 = count }
    }

    /// How many of some bytes may go; all of them, or as many as are left before the cut.
    func allow(_ count: Int, _ direction: Proxy.Direction) -> (count: Int, isLast: Bool) {
        guard let left = allowance[direction] else { return (count, false) }
        guard count >= left else {
            allowance[direction] = left - count
            return (count, false)
        }
        allowance = [:]
        return (left, true)
    }

    // MARK: Orders

    func cut() {
        for link in links.values { link.cut() }
    }

    func cut(after byteCount: Int, _ direction: Proxy.Direction) {
        allowance[direction] = byteCount
    }

    func strand(after byteCount: Int) {
        for link in links.values { link.strand(after: byteCount) }
    }

    func deliver() {
        for link in links.values { link.deliver() }
    }

    func release() {
        held = []
        for link in links.values { link.pass() }
    }

    func swallow(_ directions: [Proxy.Direction]) {
        swallowed.formUnion(directions)
        for link in links.values { link.deafen(directions) }
    }

    func heal() {
        isRefusing = false
        swallowed = []
        allowance = [:]
        deliver()
        release()
    }
}
