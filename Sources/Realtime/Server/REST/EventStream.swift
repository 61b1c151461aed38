package import LarderCore
import LarderRealtimeModel
package import LarderRealtimeRemote

/// The messages of an event stream, made of the events of a connection that listens to one query.
///
///     awaiting data --push--> streaming --revoked, closed--> ended
///           \--refused--> ended
package struct EventStream {
    /// What is to be done after an event.
    package enum Action: Sendable, Equatable {
        /// Answers the request without a stream, and closes the connection.
        case respond(RESTResponse)
        /// Answers the request with the head of a stream.
        case begin(RESTResponse)
        case send(SharedBytes)
        /// Ends the stream, and closes the connection that it listens on.
        case end
    }

    private enum State { case awaitingData, streaming, ended }

    private let path: TreePath
    private let hasPriorities: Bool
    private let messages: EventMessages
    private let memory: MemoryAccount?
    private var state = State.awaitingData

    /// - Parameters:
    ///   - messages: those of the server, which all its streams share.
    ///   - memory: an account of the ledger that messages are charged to.
    init(
        of path: TreePath, hasPriorities: Bool, _ messages: EventMessages,
        _ memory: MemoryAccount?
    ) {
        self.path = path
        self.hasPriorities = hasPriorities
        self.messages = messages
        self.memory = memory
    }

    /// Handles an event.
    package mutating func receive(_ event: ConnectionEvent) -> [Action] {
        switch (state, event) {
        case (.ended, _), (_, .opened): return []
        case (.awaitingData, .response(_, let response)) where response.status != .ok:
            return respond(
                response.status == .permissionDenied
                    ? .denied : .invalid(response.reason ?? response.status.rawValue))
        case (_, .response): return []
        case (_, .push(let push)): return receive(push)
        case (.awaitingData, .closed(let error)):
            return respond(RESTError(503, error?.message ?? "the server is closing"))
        case (.awaitingData, .reset), (.awaitingData, .shutdown):
            return respond(RESTError(503, "the server is closing"))
        case (.streaming, .closed), (.streaming, .reset), (.streaming, .shutdown):
            state = .ended
            return [.end]
        }
    }

    private mutating func respond(_ error: RESTError) -> [Action] {
        state = .ended
        return [.respond(RESTResponse(error))]
    }

    private mutating func receive(_ push: RealtimePush) -> [Action] {
        switch push {
        case .overwrite, .merge:
            let key = EventMessages.Key(push: push, path: path, hasPriorities: hasPriorities)
            guard let message = messages.message(of: key, memory, { message(of: push) }) else {
                return []
            }
            return begin() + [.send(message)]
        case .listenRevoked: return end(with: Self.message("cancel", .null))
        case .authenticationRevoked:
            return end(with: Self.message("auth_revoked", .string("credential is no longer valid")))
        case .rangeMerge, .securityDebug: return []
        }
    }

    /// The JSON of a node; nil for a priority where the stream has none.
    private func json(of node: Node, at path: TreePath) -> JSONValue? {
        if hasPriorities { return node.exportedJSON }
        return path.isPriority ? nil : node.plainJSON
    }

    /// The message of a push; nil for one that is not sent to streams.
    private func message(of push: RealtimePush) -> SharedBytes? {
        switch push {
        case .overwrite(let path, let node, _):
            return data("put", path, json(of: node, at: path))
        case .merge(let path, let values, _):
            let members = values.compactMap { value in
                json(of: value.node, at: value.path).map { JSONMember(value.path.text, $0) }
            }
            return data("patch", path, members.isEmpty ? nil : .object(members))
        default: return nil
        }
    }

    private func data(_ name: String, _ path: TreePath, _ json: JSONValue?) -> SharedBytes? {
        guard let json, let relative = path.relative(to: self.path) else { return nil }
        let message = JSONValue.object([
            JSONMember("path", .string(relative.description)), JSONMember("data", json),
        ])
        return Self.message(name, message)
    }

    private mutating func begin() -> [Action] {
        guard state == .awaitingData else { return [] }
        state = .streaming
        var head = RESTResponse(200)
        head.add("Content-Type", "text/event-stream; charset=utf-8")
        head.add("Cache-Control", "no-cache")
        return [.begin(head)]
    }

    private mutating func end(with message: SharedBytes) -> [Action] {
        let first = begin()
        state = .ended
        return first + [.send(message), .end]
    }

    // MARK: Messages

    /// The message that keeps a stream alive, which servers send every 30 seconds.
    package static let keepAlive = message("keep-alive", .null)

    private static func message(_ name: String, _ json: JSONValue) -> SharedBytes {
        var bytes = Array("event: \(name)\ndata: ".utf8)
        JSONWriter.append(json, to: &bytes)
        bytes.append(contentsOf: "\n\n".utf8)
        return SharedBytes(bytes)
    }
}

/// The last message of a server's event streams, which share it: a change is most often the same to
/// all, and is encoded once.
final class EventMessages: Sendable {
    /// What a message depends on.
    struct Key: Sendable {
        let push: RealtimePush
        /// The location of the stream.
        let path: TreePath
        let hasPriorities: Bool
    }

    private let last = LastMade<Key, SharedBytes> {
        $0.hasPriorities == $1.hasPriorities && $0.path == $1.path && $0.push.isSame(as: $1.push)
    }

    func message(
        of key: Key, _ memory: MemoryAccount?, _ make: () -> SharedBytes?
    ) -> SharedBytes? {
        last.value(of: key, for: memory, size: \.count) {
            let message = make()
            message?.charge(by: memory)
            return message
        }
    }
}
