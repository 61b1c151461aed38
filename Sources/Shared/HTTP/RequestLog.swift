import LarderCore
package import Logging
import Synchronization

/// Logs each request in a line at level info: what was asked for, the status, the time and the
/// bytes of the response, and the client's address.
///
/// Queries and header fields are not logged: they may have tokens. Any thread may use it.
package struct RequestLog: Sendable {
    private let logger: Logger

    package init(_ logger: Logger) {
        self.logger = logger
    }

    /// Whether requests are logged.
    package var isOn: Bool { logger.logLevel <= .info }

    /// Logs a request.
    ///
    /// - Parameters:
    ///   - name: what was asked for: the method and the path, or the name of an RPC.
    ///   - status: the status of the response.
    ///   - bytes: the size of the response's body; nil if it is not known.
    ///   - address: the client's address; nil or empty if it has none.
    package func note(
        _ name: String, status: String, in duration: Duration, bytes: Int? = nil,
        address: String?, _ further: Logger.Metadata = [:]
    ) {
        var metadata = further
        metadata["status"] = "\(status)"
        metadata["ms"] = "\(Int64((duration / .milliseconds(1)).rounded()))"
        metadata["bytes"] = bytes.map { "\($0)" }
        if let address, !address.isEmpty { metadata["peer"] = "\(address)" }
        logger.info("\(name)", metadata: metadata)
    }
}

/// A reply that is logged when it ends.
final class LoggedReply: HTTPReply {
    private struct State {
        var status = 0
        var bytes = 0
        var isOver = false
    }

    private let reply: any HTTPReply
    private let log: RequestLog
    private let name: String
    private let address: String?
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    init(_ reply: any HTTPReply, to request: HTTPRequest, _ log: RequestLog) {
        self.reply = reply
        self.log = log
        name = "\(request.method) \(request.path)"
        address = CallOrigin.current?.connection.address
    }

    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        state.withLock { $0.status = head.status }
        reply.begin(head, bodyBytes: bodyBytes)
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        try await reply.write(bytes)
        state.withLock { $0.bytes += bytes.count }
    }

    func write(_ bytes: SharedBytes) async throws(LarderError) {
        try await reply.write(bytes)
        state.withLock { $0.bytes += bytes.bytes.count }
    }

    func end(_ bytes: [UInt8]) {
        state.withLock { $0.bytes += bytes.count }
        reply.end(bytes)
        finish()
    }

    /// Logs the request, unless that was done: a response whose client has left has no end.
    func finish() {
        let ended = state.withLock { state -> State? in
            defer { state.isOver = true }
            return state.isOver ? nil : state
        }
        guard let ended else { return }
        log.note(
            name, status: ended.status == 0 ? "none" : "\(ended.status)",
            in: ContinuousClock.now - start, bytes: ended.bytes, address: address)
    }
}
