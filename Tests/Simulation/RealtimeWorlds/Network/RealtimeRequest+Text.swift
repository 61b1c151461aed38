import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeSync

// Short texts for the journal, in one line.

extension QuerySpec {
    var text: String {
        isDefault ? "\(path)" : "\(path)?" + parameters.json.text
    }
}

extension JSONValue {
    fileprivate var text: String {
        var bytes: [UInt8] = []
        JSONWriter.append(self, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [PathValue] {
    fileprivate var text: String {
        map { "\($0.path)=\($0.node)" }.joined(separator: " ")
    }
}

extension RealtimeRequest {
    var text: String {
        switch self {
        case .authenticate(let token, _): "auth \(token)"
        case .unauthenticate: "unauth"
        case .listen(let query, let tag, let hash, let ranges):
            "listen \(query.text) tag \(tag ?? 0) \(hash)" + (ranges == nil ? "" : " with ranges")
        case .unlisten(let query, let tag): "unlisten \(query.text) tag \(tag ?? 0)"
        case .get(let query): "get \(query.text)"
        case .put(let path, let node, let hash):
            "put \(path) \(node)" + (hash.map { " if \($0)" } ?? "")
        case .merge(let path, let values): "merge \(path) \(values.text)"
        case .onDisconnectPut(let path, let node): "arm \(path) \(node)"
        case .onDisconnectMerge(let path, let values): "arm \(path) \(values.text)"
        case .once(_, let write): write.text
        case .onDisconnectCancel(let path): "disarm \(path)"
        case .statistics: "statistics"
        }
    }
}

extension RealtimePush {
    var text: String {
        switch self {
        case .overwrite(let path, let node, let tag): "d \(path) tag \(tag ?? 0) \(node)"
        case .merge(let path, let values, let tag): "m \(path) tag \(tag ?? 0) \(values.text)"
        case .rangeMerge(let path, let merges, let tag): "rm \(path) tag \(tag ?? 0) \(merges)"
        case .listenRevoked(let path, let parameters):
            "revoked " + QuerySpec(path, parameters ?? .default).text
        case .authenticationRevoked(let status, _): "auth revoked: \(status.rawValue)"
        case .securityDebug(let text): text
        }
    }
}

extension WriteRequest {
    var text: String {
        switch self {
        case .overwrite(let path, let node): "set \(path) \(node)"
        case .merge(let path, let values): "update \(path) \(values.text)"
        }
    }
}

extension DisconnectOperation {
    var text: String {
        switch self {
        case .put(let path, let node): "arm \(path) \(node)"
        case .merge(let path, let values): "arm \(path) \(values.text)"
        case .cancel(let path): "disarm \(path)"
        }
    }
}

extension TreeEvent {
    var text: String {
        let kind =
            switch change {
            case .value(let node): "value \(node)"
            case .child(let type, let child, let previous):
                "\(type) \(child.key) \(child.node) after \(previous?.text ?? "none")"
            case .cancelled(let error): "cancelled \(error.kind)"
            }
        return kind + (metadata.isComplete ? "" : " incomplete")
            + (metadata.hasPendingWrites ? " pending" : "")
            + (metadata.isFromCache ? " cached" : "")
    }
}
