import LarderModel
import LarderQuery
import LarderRemote

// What clients ask of a backend, on one line.

extension WatchRequest {
    var summary: String {
        switch self {
        case .add(let target): "add \(target.id): \(target.summary)"
        case .remove(let id): "remove \(id)"
        }
    }
}

extension WriteRequest {
    var summary: String {
        switch self {
        case .handshake: "handshake"
        case .write(let mutations, _, _): "\(mutations.count) of \(mutations.map(\.path.string))"
        }
    }
}

extension WatchTarget {
    var summary: String {
        "\(target.canonicalID), \(resumption.text), \(purpose), \(expectedCount ?? 0) documents"
    }
}

extension WatchTarget.Resumption {
    var text: String {
        switch self {
        case .none: "from the start"
        case .token(let bytes): "from token '\(String(decoding: bytes, as: UTF8.self))'"
        case .readTime(let version): "from version \(version.microseconds)"
        }
    }
}
