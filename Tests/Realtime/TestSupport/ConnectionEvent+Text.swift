import LarderRealtimeModel
package import LarderRealtimeRemote

extension ConnectionEvent {
    /// The event as a short text.
    ///
    /// - `hello ID`, `reset HOST`, `shutdown REASON`, `closed CODE`;
    /// - `N status`, with the payload of a read, for the answer to request N;
    /// - `d /path VALUE`, `m /path {path: VALUE, …}`, `rm /path (start, end] VALUE`, each with `#TAG`
    ///   for a tagged one; `c /path`, `ac STATUS`.
    package var text: String {
        switch self {
        case .opened(let hello): "hello \(hello.sessionID)"
        case .response(let number, let response): "\(number) \(response.text)"
        case .push(let push): push.text
        case .reset(let host): "reset \(host)"
        case .shutdown(let reason): "shutdown \(reason)"
        case .closed(let error): "closed" + (error.map { " \($0.kind)" } ?? "")
        }
    }
}

extension ConnectionEvent {
    /// What identifies the names of a server that greets a client; nil without names, and for other
    /// events.
    package var namesID: String? {
        if case .opened(let hello) = self { hello.namesID } else { nil }
    }
}

extension RealtimeResponse {
    fileprivate var text: String {
        switch payload {
        case .node(let node): "\(status.rawValue) \(node)"
        case .none, .json: status.rawValue
        }
    }
}

extension RealtimePush {
    fileprivate var text: String {
        func suffix(_ tag: Int?) -> String { tag.map { " #\($0)" } ?? "" }
        switch self {
        case .overwrite(let path, let node, let tag): return "d \(path) \(node)" + suffix(tag)
        case .merge(let path, let values, let tag):
            let list = values.map { "\($0.path.text): \($0.node)" }.joined(separator: ", ")
            return "m \(path) {\(list)}" + suffix(tag)
        case .rangeMerge(let path, let merges, let tag):
            let list = merges.map {
                "(\($0.start?.text ?? ""), \($0.end?.text ?? "")] \($0.content)"
            }
            return "rm \(path) \(list.joined(separator: " "))" + suffix(tag)
        case .listenRevoked(let path, _): return "c \(path)"
        case .authenticationRevoked(let status, _): return "ac \(status.rawValue)"
        case .securityDebug(let text): return "sd \(text)"
        }
    }
}
