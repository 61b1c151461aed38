import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import NIOCore
import NIOSSL
import Synchronization

/// A Realtime Database server over WebSockets.
///
/// Keeps nothing but the host to use; each connection has an event loop of the process's group to
/// itself, on which its handler is called.
final class WebSocketRemote: RealtimeRemote {
    private let namespace: String
    private let configuration: WebSocketConfiguration
    private let tls: NIOSSLContext?
    private let hosts: Mutex<ServerHosts>
    private let group: any EventLoopGroup

    /// The server of an address; reads the files of certificates.
    ///
    /// - Throws: `invalidArgument` for an invalid address or configuration, and for files that hold
    ///   no certificates.
    init(
        _ address: RealtimeRemoteConnector.Address, _ configuration: WebSocketConfiguration,
        group: any EventLoopGroup
    ) throws(LarderError) {
        try configuration.validate()
        guard let endpoint = ServerEndpoint(address.host, isEncrypted: address.isEncrypted) else {
            throw LarderError(
                realtime: .invalidArgument, "'\(address.host)' is not the address of a host")
        }
        namespace = address.namespace
        self.configuration = configuration
        tls = address.isEncrypted ? try Self.tls(configuration.trustedCertificateFiles) : nil
        hosts = Mutex(ServerHosts(endpoint))
        self.group = group
    }

    private static func tls(_ certificateFiles: [String]) throws(LarderError) -> NIOSSLContext {
        do {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.applicationProtocols = ["http/1.1"]
            if !certificateFiles.isEmpty {
                tls.trustRoots = .certificates(
                    try certificateFiles.flatMap { try NIOSSLCertificate.fromPEMFile($0) })
            }
            return try NIOSSLContext(configuration: tls)
        } catch {
            throw LarderError(
                realtime: .invalidArgument, "the trusted certificates cannot be read: \(error)",
                cause: error)
        }
    }

    func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        let isClosed = AtomicFlag()
        let wasGreeted = AtomicFlag()
        let socket = SocketHandler(group.next(), configuration) { [self] event, duration in
            let event = note(event, wasGreeted, after: duration)
            if !isClosed.isSet { handler(event) }
        }
        let handshake = Handshake(
            endpoint: hosts.withLock { $0.current }, namespace: namespace,
            lastSessionID: request.lastSessionID, tls: tls, configuration: configuration)
        socket.loop.execute { handshake.begin(socket) }
        return WebSocketConnection(socket, isClosed: isClosed)
    }

    /// Notes what an event says about hosts.
    ///
    /// - Returns: the event for the handler, an error in place of a reset that is not followed.
    private func note(
        _ event: ConnectionEvent, _ wasGreeted: AtomicFlag, after duration: Duration
    ) -> ConnectionEvent {
        hosts.withLock { hosts in
            switch event {
            case .opened(let hello):
                wasGreeted.set()
                hosts.greeted(naming: hello.host)
            case .reset(let host):
                guard hosts.reset(to: host, after: duration) else {
                    return .closed(
                        LarderError(
                            realtime: .unavailable,
                            "the server sends its clients on to '\(host.prefix(100))', too often "
                                + "or in vain"))
                }
            case .shutdown, .closed: hosts.ended(wasGreeted: wasGreeted.isSet)
            case .response, .push: break
            }
            return event
        }
    }
}

/// A client's end of a connection, which ends with it.
final class WebSocketConnection: RealtimeConnection {
    private let socket: SocketHandler
    private let isClosed: AtomicFlag
    private let requests = RequestInbox()

    init(_ socket: SocketHandler, isClosed: AtomicFlag) {
        self.socket = socket
        self.isClosed = isClosed
    }

    deinit { close() }

    func send(_ request: RealtimeRequest, number: Int) {
        guard requests.add(request, number: number) else { return }
        socket.loop.execute { [socket, requests] in socket.send(requests.take()) }
    }

    func close() {
        isClosed.set()
        socket.loop.execute { [socket] in socket.close() }
    }
}

/// Requests on their way to an event loop: those of one turn are sent together.
private final class RequestInbox: Sendable {
    private let requests = Mutex<[(number: Int, request: RealtimeRequest)]>([])

    /// Adds a request.
    ///
    /// - Returns: true if it is the first one since the last call of ``take()``.
    func add(_ request: RealtimeRequest, number: Int) -> Bool {
        requests.withLock { requests in
            requests.append((number, request))
            return requests.count == 1
        }
    }

    func take() -> [(number: Int, request: RealtimeRequest)] {
        requests.withLock { requests in
            defer { requests = [] }
            return requests
        }
    }
}
