import Foundation
import LarderRealtimeModel
import LarderSharedTestSupport

/// A test of the sync-point specification.
struct SyncPointCase: Sendable {
    let name: String
    let steps: [Step]

    /// What a test does, and the events that it causes.
    struct Step: Sendable {
        let action: Action
        let path: TreePath
        let events: [Event]
    }

    enum Action: Sendable {
        case listen(QueryParameters, callback: Int64?)
        case unlisten(callback: Int64)
        case serverUpdate(Node, tag: Int?)
        case serverMerge([PathValue], tag: Int?)
        case set(Node, isVisible: Bool)
        case update([PathValue])
        case acknowledgement(Int64, reverts: Bool)
        case nothing
    }

    /// An expected event.
    struct Event: Sendable {
        let path: TreePath
        let type: String
        let name: String?
        let previousName: String?
        let hash: String
    }

    /// A problem of the file, in words.
    struct Malformed: Error {
        let text: String

        init(_ text: String) { self.text = text }
    }
}

// MARK: - The file

extension SyncPointCase {
    /// The tests below the directory that `LARDER_SPEC_DIR` names, or beside the package; nil where
    /// there are none.
    static func all() throws -> [SyncPointCase]? {
        let file = PackageDirectory.specifications.appending(path: "realtime/syncPointSpec.json")
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        let data = try Data(contentsOf: file)
        let json = try data.withUnsafeBytes { try JSONValue(parsing: $0) }
        guard case .array(let tests) = json else { throw Malformed("the file is no array") }
        return try tests.map { try SyncPointCase($0) }
    }

    private init(_ json: JSONValue) throws {
        guard case .string(let name) = json["name"], case .array(let steps) = json["steps"] else {
            throw Malformed("a test has no name or steps")
        }
        self.name = name
        self.steps = try steps.map { try Step($0) }
    }
}

extension SyncPointCase.Step {
    fileprivate init(_ json: JSONValue) throws {
        path = TreePath(json["path"]?.text ?? "")
        action = try SyncPointCase.Action(json)
        guard case .array(let events)? = json["events"] else {
            self.events = []
            return
        }
        self.events = try events.map { try SyncPointCase.Event($0) }
    }
}

extension SyncPointCase.Event {
    fileprivate init(_ json: JSONValue) throws {
        guard let path = json["path"]?.text, let type = json["type"]?.text else {
            throw SyncPointCase.Malformed("an event has no path or type")
        }
        self.path = TreePath(path.trimmingCharacters(in: .whitespaces))
        self.type = type
        name = json["name"]?.text
        previousName = json["prevName"]?.text
        hash = try Node(exported: json["data"] ?? .null).hash
    }
}

extension SyncPointCase.Action {
    fileprivate init(_ json: JSONValue) throws {
        func node() throws -> Node { try Node(exported: json["data"] ?? .null) }
        let tag = json["tag"]?.integer.map { Int($0) }
        switch json["type"]?.text {
        case "listen":
            self = .listen(
                try QueryParameters(specification: json["params"]),
                callback: json["callbackId"]?.integer)
        case "unlisten": self = .unlisten(callback: json["callbackId"]?.integer ?? 0)
        case "serverUpdate": self = .serverUpdate(try node(), tag: tag)
        case "serverMerge": self = .serverMerge(try json["data"].values, tag: tag)
        case "set": self = .set(try node(), isVisible: json["visible"] != .boolean(false))
        case "update": self = .update(try json["data"].values)
        case "ackUserWrite":
            self = .acknowledgement(
                json["writeId"]?.integer ?? -1, reverts: json["revert"] == .boolean(true))
        case "suppressWarning": self = .nothing
        case let type: throw SyncPointCase.Malformed("unknown step \(type ?? "without a type")")
        }
    }
}

extension QueryParameters {
    fileprivate init(specification json: JSONValue?) throws {
        var builder = QueryBuilder()
        guard case .object(let members)? = json else {
            self = .default
            return
        }
        let known = [
            "tag", "orderBy", "orderByKey", "orderByPriority", "startAt", "startAfter", "endAt",
            "endBefore", "equalTo", "limitToFirst", "limitToLast",
        ]
        for member in members where !known.contains(member.name) {
            throw SyncPointCase.Malformed("unknown parameter \(member.name)")
        }
        if let path = json?["orderBy"]?.text { builder = try builder.ordered(byChild: path) }
        if json?["orderByKey"] != nil { builder = try builder.ordered(by: .key) }
        if json?["orderByPriority"] != nil { builder = try builder.ordered(by: .priority) }
        if let bound = json?["startAt"] {
            builder = try builder.starting(at: bound["index"] ?? .null, key: bound["name"]?.text)
        }
        if let bound = json?["startAfter"] {
            builder = try builder.starting(after: bound["index"] ?? .null, key: bound["name"]?.text)
        }
        if let bound = json?["endAt"] {
            builder = try builder.ending(at: bound["index"] ?? .null, key: bound["name"]?.text)
        }
        if let bound = json?["endBefore"] {
            builder = try builder.ending(before: bound["index"] ?? .null, key: bound["name"]?.text)
        }
        if let bound = json?["equalTo"] {
            builder = try builder.equal(to: bound["index"] ?? .null, key: bound["name"]?.text)
        }
        if let count = json?["limitToFirst"]?.integer {
            builder = try builder.limited(toFirst: Int(count))
        }
        if let count = json?["limitToLast"]?.integer {
            builder = try builder.limited(toLast: Int(count))
        }
        self = builder.parameters
    }
}

extension JSONValue? {
    fileprivate var values: [PathValue] {
        get throws {
            guard case .object(let members)? = self else {
                throw SyncPointCase.Malformed("a merge is no object")
            }
            return try members.map { PathValue(TreePath($0.name), try Node(exported: $0.value)) }
        }
    }
}

extension JSONValue {
    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    fileprivate var integer: Int64? {
        guard case .integer(let integer) = self else { return nil }
        return integer
    }
}
