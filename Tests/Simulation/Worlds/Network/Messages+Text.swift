import LarderModel
import LarderQuery
import LarderRemote
import SimulationSupport

// Messages in the journal, each on one line.

extension WatchMessage {
    var text: String {
        switch self {
        case .request(.add(let target)):
            "add \(target.id) \(target.target.canonicalID) \(target.resumption.text), "
                + "\(target.expectedCount.map { "\($0)" } ?? "?") documents, \(target.purpose)"
        case .request(.remove(let id)): "remove \(id)"
        case .demand(let count): "demand \(count)"
        }
    }
}

extension WatchTarget.Resumption {
    fileprivate var text: String {
        switch self {
        case .none: "from nothing"
        case .token(let token): "from \(token.text)"
        case .readTime(let version): "from \(version)"
        }
    }
}

extension [UInt8] {
    /// The end of a token, which identifies it.
    fileprivate var text: String { isEmpty ? "" : "token \(suffix(6).map(\.description))" }
}

extension WatchEvent {
    var text: String {
        switch self {
        case .opened: "opened"
        case .closed(let error): "closed \(error?.description ?? "in good order")"
        case .response(.targets(let change)):
            "\(change.kind) \(change.targetIDs) \(change.resumeToken.text) \(change.readTime)"
        case .response(.document(let reading, let ids, let removed)):
            "document \(reading.text) in \(ids) not in \(removed)"
        case .response(.unreadable(let path, let error, let ids, let removed)):
            "unreadable \(path?.string ?? "document") in \(ids) not in \(removed): \(error)"
        case .response(.removed(let path, let removed)): "removed \(path) from \(removed)"
        case .response(.existenceFilter(let id, let count, let bits)):
            "filter of \(id): \(count), \(bits == nil ? "no" : "\(bits?.bitmap.count ?? 0)") bytes"
        }
    }
}

extension DocumentReading {
    fileprivate var text: String {
        switch contents {
        case .found(let record, _): "\(path)@\(version) \(record.fields)"
        case .absent: "\(path)@\(version) absent"
        }
    }
}

extension WriteRequest {
    var text: String {
        switch self {
        case .handshake: "handshake"
        case .write(let mutations, _, _): "\(mutations.map(\.summary))"
        }
    }
}

extension WriteEvent {
    var text: String {
        switch self {
        case .opened: "opened"
        case .handshake: "handshake"
        case .committed(let response, _): "committed \(response.commitVersion)"
        case .closed(let error): "closed \(error?.description ?? "in good order")"
        }
    }
}
