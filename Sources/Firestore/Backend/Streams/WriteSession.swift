import DequeModule
import LarderModel
import LarderRemote
import Synchronization

/// The backend's side of a write stream; used only by ``BackendCore``.
final class WriteSession {
    private let rulesCheck: RulesCheck
    private let handler: @Sendable (WriteEvent) -> Void
    private var hasHandshake = false
    private var hasClosed = false
    private var lastToken: UInt64 = 0

    /// The client's process at the other end; nil until a write names it.
    fileprivate(set) var writer: String?

    /// Whether its writes are still committed.
    private(set) var isOpen = true

    /// True while a commit of the stream waits for locks.
    var isBlocked = false
    /// The commits behind it.
    private var later: Deque<CommitRequest> = []

    init(rulesCheck: RulesCheck, _ handler: @escaping @Sendable (WriteEvent) -> Void) {
        self.rulesCheck = rulesCheck
        self.handler = handler
    }

    /// Reports the stream as open.
    func open() {
        handler(.opened)
    }

    /// Handles a request.
    ///
    /// - Returns: the commit to perform, if any.
    func receive(_ request: WriteRequest) -> CommitRequest? {
        guard isOpen else { return nil }
        switch request {
        case .handshake where !hasHandshake:
            hasHandshake = true
            handler(.handshake(streamToken: nextToken(), keepsNames: true))
            return nil
        case .write(let mutations, streamToken: let token, once: let name)
        where hasHandshake && isKnown(token):
            return CommitRequest(
                mutations: mutations, rulesCheck: rulesCheck, stream: self, name: name
            ) {
                self.answer($0.map(\.response))
            }
        case .handshake, .write:
            close(.invalidArgument("a request is out of order, or its stream token is unknown"))
            return nil
        }
    }

    /// Adds a commit that waits for an earlier one.
    func append(_ request: CommitRequest) {
        later.append(request)
    }

    /// Removes the next commit that waits for an earlier one.
    func popLater() -> CommitRequest? { later.popFirst() }

    /// Ends the stream without notifying the client; its waiting commits are dropped.
    func end() {
        isOpen = false
    }

    /// Ends the stream and reports the error to the client, once.
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

    /// Whether the token was issued by this stream.
    private func isKnown(_ token: [UInt8]) -> Bool {
        guard let number = UInt64(String(decoding: token, as: UTF8.self)) else { return false }
        return (1...max(lastToken, 1)).contains(number)
    }
}

/// A client's side of a write stream.
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
    func openWriteStream(
        _ id: StreamID, as credentials: Credentials,
        _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) {
        let session = WriteSession(rulesCheck: rulesCheck(credentials), handler)
        guard !isClosed else { return session.close(Self.closed) }
        writeSessions[id] = session
        session.open()
    }

    /// Handles a request of a stream, unless it has ended.
    func receive(_ request: WriteRequest, onWriteStream id: StreamID) {
        guard let session = writeSessions[id], let commit = session.receive(request) else { return }
        if session.writer == nil, let name = commit.name, let writer = name.writer {
            session.writer = writer
            writerStreams.begin(writer, after: name.former, on: id)
        }
        if let writer = session.writer, !writerStreams.isLatest(id, of: writer) {
            return session.close(
                LarderError(.aborted, "the client has begun to write on a later stream"))
        }
        self.commit(commit)
    }

    /// Ends a stream that its client has closed.
    func endWriteStream(_ id: StreamID) {
        writeSessions.removeValue(forKey: id)?.end()
    }
}

/// A client's handle to a stream.
///
/// Can be used from any thread.
final class StreamHandle: Sendable {
    let id: StreamID
    private let core: BackendCore
    private let isOn = Atomic<Bool>(true)

    init(_ core: BackendCore) {
        self.core = core
        id = core.newStreamID()
    }

    /// Whether the stream's handler may still be called.
    var isOpen: Bool { isOn.load(ordering: .acquiring) }

    /// Enqueues work at the backend.
    func perform(_ body: @escaping @Sendable (isolated BackendCore, StreamID) -> Void) {
        let id = id
        core.perform { body($0, id) }
    }

    /// Ends the handler's calls; the first call also closes the stream at the backend.
    func close(_ end: @escaping @Sendable (isolated BackendCore, StreamID) -> Void) {
        if isOn.exchange(false, ordering: .acquiringAndReleasing) { perform(end) }
    }
}
