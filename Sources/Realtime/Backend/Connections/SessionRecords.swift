import LarderCore
import LarderRealtimeModel

/// The records of a session's operations, one for each request in its order.
///
/// When there are many more than paths, they are replaced by one for each path.
struct SessionRecords {
    private static let minimumLimit = 32

    private let owner: RecordOwner
    private var count = 0
    /// The count at which all are replaced.
    private var limit = Self.minimumLimit
    /// The number of the record of the progress, once there is one.
    private var progress: Int?

    init(ofSession id: String) {
        owner = RecordOwner(.session, id)
    }

    /// The records of a session of an earlier run.
    init(_ stored: StoredSession) {
        owner = RecordOwner(.session, stored.id)
        count = stored.recordCount
    }

    /// Adds an operation to a commit.
    ///
    /// - Parameter operations: all operations of the session, with this one.
    mutating func add(
        _ operation: SessionOperation, _ operations: SessionOperations, to commit: inout TreeCommit
    ) {
        if operations.isEmpty {
            removeAll(in: &commit)
        } else if count < limit {
            commit.put(operation.json.bytes, number: count, of: owner)
            count += 1
        } else {
            let records = operations.operations.map(\.json.bytes)
            commit.replaceRecords(of: owner, with: records)
            count = records.count
            limit = 2 * count + Self.minimumLimit
        }
    }

    /// Notes that the first operations of an ended session are made.
    mutating func addProgress(_ madeCount: Int, to commit: inout TreeCommit) {
        let number = progress ?? count
        progress = number
        commit.put(SessionProgress(madeCount).json.bytes, number: number, of: owner)
    }

    mutating func removeAll(in commit: inout TreeCommit) {
        commit.replaceRecords(of: owner)
        (count, limit) = (0, Self.minimumLimit)
    }
}

/// A session of an earlier run of the server, of which the operations are to be made.
struct StoredSession: Sendable {
    let id: String
    let operations: SessionOperations
    /// How many of the operations are made.
    let madeCount: Int
    let recordCount: Int

    /// The sessions that a namespace has records of, in an order that does not change.
    static func sessions(in stored: StoredTree) throws(LarderError) -> [StoredSession] {
        var sessions: [StoredSession] = []
        for (owner, records) in stored.records where owner.kind == .session {
            var operations = SessionOperations()
            var madeCount = 0
            for record in records {
                if let progress = SessionProgress(record: record) {
                    madeCount = progress.madeCount
                } else {
                    operations.apply(try SessionOperation(record: record))
                }
            }
            sessions.append(
                StoredSession(
                    id: owner.id, operations: operations, madeCount: madeCount,
                    recordCount: records.count))
        }
        return sessions.sorted { ($0.id.utf8.count, $0.id) < ($1.id.utf8.count, $1.id) }
    }
}

// MARK: - JSON

// user    null, true for an administrator, or what rules see as `auth`
// path    text
// values  pairs of a path below it and a node in the export format; missing for a cancellation

// of the progress, which is the last record:
// made    the number of operations that are made, in the order of their paths
// path    .info, below which nothing can be registered: earlier versions take it for a cancellation

/// How far the operations of an ended session are made.
private struct SessionProgress {
    let madeCount: Int

    init(_ madeCount: Int) {
        self.madeCount = madeCount
    }

    init?(record: [UInt8]) {
        guard let json = try? JSONValue(parsing: record, maximumDepth: 1000),
            case .integer(let count)? = json["made"]
        else { return nil }
        madeCount = Int(clamping: count)
    }

    var json: JSONValue {
        .object([
            JSONMember("user", .null), JSONMember("path", .string(TreePath.info.text)),
            JSONMember("made", .integer(Int64(madeCount))),
        ])
    }
}

extension SessionOperation {
    var json: JSONValue {
        var members = [JSONMember("user", RealtimeUser.json(of: user))]
        switch change {
        case .cancel(let path): members.append(JSONMember("path", .string(path.text)))
        case .write(let write):
            let values = write.values.map {
                JSONValue.array([.string($0.path.text), $0.node.exportedJSON])
            }
            members.append(JSONMember("path", .string(write.path.text)))
            members.append(JSONMember("values", .array(values)))
        }
        return .object(members)
    }

    init(record: [UInt8]) throws(LarderError) {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: record, maximumDepth: 1000)
        } catch {
            throw .unreadableRecord
        }
        guard case .string(let path)? = json["path"], let userJSON = json["user"] else {
            throw .unreadableRecord
        }
        user = RealtimeUser.user(of: userJSON)
        guard let values = json["values"] else {
            change = .cancel(TreePath(path))
            return
        }
        guard case .array(let pairs) = values else { throw .unreadableRecord }
        var nodes: [PathValue] = []
        for pair in pairs {
            guard case .array(let parts) = pair, parts.count == 2, case .string(let path) = parts[0]
            else { throw .unreadableRecord }
            nodes.append(PathValue(TreePath(path), try Node(exported: parts[1])))
        }
        change = .write(TreeWrite(TreePath(path), nodes))
    }
}

extension RealtimeUser {
    fileprivate static func json(of user: RealtimeUser?) -> JSONValue {
        guard let user else { return .null }
        return user.isAdministrator ? .boolean(true) : user.authentication
    }

    fileprivate static func user(of json: JSONValue) -> RealtimeUser? {
        switch json {
        case .null: nil
        case .boolean: .administrator
        default: RealtimeUser(authentication: json)
        }
    }
}

extension JSONValue {
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(self, to: &bytes)
        return bytes
    }
}

extension LarderError {
    static var unreadableRecord: LarderError {
        LarderError(
            realtime: .dataLoss, "a record of a Realtime Database's server cannot be read",
            condition: .corrupt)
    }
}
