import LarderModel
import LarderRemote

/// The backend's side of a stream that takes writes; the backend's core alone uses it.
final class WriteSession {
    private let gate: Gate
    private let handler: @Sendable (WriteEvent) -> Void
    private var hasHandshake = false
    private var hasClosed = false
    private var lastToken: UInt64 = 0

    /// Whether its writes are still to be made.
    private(set) var isOpen = true

    /// A stream of a user.
    init(gate: Gate, _ handler: @escaping @Sendable (WriteEvent) -> Void) {
        self.gate = gate
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
            return CommitRequest(mutations: mutations, gate: gate, stream: self) {
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
