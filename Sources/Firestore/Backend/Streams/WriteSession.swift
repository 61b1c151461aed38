import LarderModel
import LarderRemote
import Synchronization

/// The backend's side of a stream that takes writes; the backend's core alone uses it.
final class WriteSession {
    private let rulesCheck: RulesCheck
    private let handler: @Sendable (WriteEvent) -> Void
    private var hasHandshake = false
    private var hasClosed = false
    private var lastToken: UInt64 = 0

    /// Whether its writes are still to be made.
    private(set) var isOpen = true

    /// A stream of a user.
    init(rulesCheck: RulesCheck, _ handler: @escaping @Sendable (WriteEvent) -> Void) {
        self.rulesCheck = rulesCheck
        self.handler = handler
    }

    /// Tells the client that the stream is open.
    func open() {
        handler(.opened)
    }

    /// Takes a request.
    ///
    /// - Returns: a commit to be made, if any.
    func receive(_ request: WriteRequest) -> CommitRequest? {
        guard isOpen else { return nil }
        switch request {
        case .handshake where !hasHandshake:
            hasHandshake = true
            handler(.handshake(streamToken: nextToken()))
            return nil
        case .write(let mutations, streamToken: let token) where hasHandshake && isKnown(token):
            return CommitRequest(mutations: mutations, rulesCheck: rulesCheck, stream: self) {
                self.answer($0.map(\.response))
            }
        case .handshake, .write:
            close(.invalidArgument("a request or a stream token out of place"))
            return nil
        }
    }

    /// Ends the stream for good, without a word: what it still asks for is not done.
    func end() {
        isOpen = false
    }

    /// Ends the stream and tells the client why, once.
    func close(_ error: LarderError?) {
        end()
        guard !hasClosed else { return }
        hasClosed = true
        handler(.closed(error))
    }

    private func answer(_ result: Result<CommitResponse, LarderError>) {
        switch result {
        case .success(let response):
            handler(.committed(response, streamToken: nextToken()))
        case .failure(let error): close(error)
        }
    }

    private func nextToken() -> [UInt8] {
        lastToken += 1
        return Array("\(lastToken)".utf8)
    }

    /// Whether the token is one that this stream gave.
    private func isKnown(_ token: [UInt8]) -> Bool {
        guard let number = UInt64(String(decoding: token, as: UTF8.self)) else { return false }
        return (1...max(lastToken, 1)).contains(number)
    }
}

/// A client's side of a stream that takes writes.
final class WriteConnection: WriteStream {
    private let handle: StreamHandle

    init(_ handle: StreamHandle) {
        self.handle = handle
    }

    deinit {
        close()
    }

    func send(_ request: WriteRequest) {
        handle.perform { $0.receive(request, onWriteStream: $1) }
    }

    func close() {
        handle.close { $0.endWriteStream($1) }
    }
}

// MARK: - Writes

extension BackendCore {
    /// Begins to serve a stream that takes writes.
    func openWriteStream(
        _ id: StreamID, as credentials: Credentials,
        _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) {
        let session = WriteSession(rulesCheck: rulesCheck(credentials), handler)
        guard !isClosed else { return session.close(Self.closed) }
        writeSessions[id] = session
        session.open()
    }

    /// Takes a request of a stream, unless that has ended.
    func receive(_ request: WriteRequest, onWriteStream id: StreamID) {
        let request = writeSessions[id]?.receive(request)
        if let request { commit(request) }
    }

    /// Ends a stream whose client has left.
    func endWriteStream(_ id: StreamID) {
        writeSessions.removeValue(forKey: id)?.end()
    }
}

/// A client's hold on a stream, until it closes it.
///
/// Any thread may use it.
final class StreamHandle: Sendable {
    let id: StreamID
    private let core: BackendCore
    private let isOn = Atomic<Bool>(true)

    /// A handle of a stream that is being opened.
    init(_ core: BackendCore) {
        self.core = core
        id = core.newStreamID()
    }

    /// Whether the stream's handler may be called.
    var isOpen: Bool { isOn.load(ordering: .acquiring) }

    /// Does something at the backend, behind all that was asked for before.
    func perform(_ body: @escaping @Sendable (isolated BackendCore, StreamID) -> Void) {
        let id = id
        core.perform { body($0, id) }
    }

    /// Ends the calls of the handler; the first time the backend is told, too.
    func close(_ end: @escaping @Sendable (isolated BackendCore, StreamID) -> Void) {
        if isOn.exchange(false, ordering: .acquiringAndReleasing) { perform(end) }
    }
}
