import LarderCore
import LarderRealtimeBackend
import LarderRealtimeModel
import LarderRealtimeRules
import LarderRealtimeServer
import LarderRealtimeTestSupport
import LarderRuntime
import LarderSharedTestSupport

/// The REST interface of a backend on a manual scheduler; requests are answered before calls
/// return.
final class RESTConversation {
    let scheduler = ManualScheduler<RealtimeBackend.Timer>()
    let backend: RealtimeBackend
    let service: RESTService

    init(rules: String? = nil) throws {
        var configuration = RealtimeBackendConfiguration()
        configuration.scheduler = scheduler
        let clock = scheduler.clock
        configuration.clock = { clock.timestamp }
        configuration.makeIdentity = { 35 }
        configuration.securityRules = try rules.map { try SecurityRules($0) }
        configuration.tokens = { token in
            switch token {
            case "owner": .valid(.administrator)
            case "old": .expired
            case "bad": .invalid(reason: "no")
            case "short":
                .valid(
                    RealtimeUser(
                        id: "ada", expiration: Timestamp(seconds: 1_700_000_010, nanoseconds: 0)))
            default: .valid(RealtimeUser(id: token))
            }
        }
        backend = RealtimeBackend(configuration)
        service = RESTService(backend)
    }

    /// Serves a request that is no stream.
    func send(
        _ method: String, _ target: String, _ body: String = "",
        headers: [(name: String, value: String)] = []
    ) -> RESTResponse? {
        let outputs = Box<[RESTService.Output]>([])
        guard
            let request = try? RESTRequest(
                method, target, headers: headers, body: Array(body.utf8))
        else { return nil }
        let stream = service.serve(request) { output in outputs.withLock { $0.append(output) } }
        scheduler.drain()
        stream?.close()
        guard case .response(let response)? = outputs.withLock({ $0.first }) else { return nil }
        return response
    }

    /// Serves a request; the status and the body of the answer, on one line.
    func text(
        _ method: String, _ target: String, _ body: String = "",
        headers: [(name: String, value: String)] = []
    ) -> String {
        guard let response = send(method, target, body, headers: headers) else { return "nothing" }
        let text = String(decoding: response.body, as: UTF8.self)
        return text.isEmpty ? "\(response.status)" : "\(response.status) \(text)"
    }

    /// Opens a stream.
    func listen(_ target: String, headers: [(name: String, value: String)] = []) -> TestStream {
        TestStream(self, target, headers)
    }

    /// Does something with the backend, and the work that follows.
    func perform(_ body: (RealtimeBackend) -> Void) {
        body(backend)
        scheduler.drain()
    }

    var tree: String { backend.tree().description }
}

/// An event stream, which keeps what it receives as short texts.
final class TestStream {
    private let outputs = Box<[RESTService.Output]>([])
    private var stream: RESTStream?
    private let conversation: RESTConversation

    init(
        _ conversation: RESTConversation, _ target: String,
        _ headers: [(name: String, value: String)]
    ) {
        self.conversation = conversation
        let outputs = outputs
        let request = try? RESTRequest(
            "GET", target, headers: headers + [("Accept", "text/event-stream")])
        stream = request.flatMap {
            conversation.service.serve($0) { output in outputs.withLock { $0.append(output) } }
        }
        conversation.scheduler.drain()
    }

    /// What has arrived since the last call: `200 TYPE`, then `EVENT DATA` for each event; `end`.
    func received() -> [String] {
        let arrived = outputs.withLock { outputs in
            defer { outputs = [] }
            return outputs
        }
        return arrived.map { output in
            switch output {
            case .response(let response):
                "\(response.status) \(String(decoding: response.body, as: UTF8.self))"
            case .streamBegan(let head):
                "\(head.status) \(head.header("Content-Type") ?? "")"
            case .streamData(let data): Self.line(String(decoding: data.bytes, as: UTF8.self))
            case .streamEnded: "end"
            }
        }
    }

    private static func line(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 4, lines[0].hasPrefix("event: "), lines[1].hasPrefix("data: "),
            lines[2].isEmpty, lines[3].isEmpty
        else { return "malformed \(text)" }
        return "\(lines[0].dropFirst(7)) \(lines[1].dropFirst(6))"
    }

    func close() {
        stream?.close()
        conversation.scheduler.drain()
    }

    func release() {
        stream = nil
        conversation.scheduler.drain()
    }
}
