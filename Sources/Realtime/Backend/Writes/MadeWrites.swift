import LarderCore
import LarderRealtimeRemote

/// The writes of a namespace whose clients may send them again: each is applied once.
///
/// A client's writes, and the puts of its transactions, are kept until it has their answers. Those of
/// the last `maxClients` clients and the last `maxWrites` of each are kept; a client has far fewer on
/// their way.
struct MadeWrites: Sendable {
    static let maxClients = 10_000
    static let maxWrites = 4_000

    /// The writes of a client.
    fileprivate struct Client: Sendable {
        /// The place of each write in their order.
        var writes: [String: Int] = [:]
        var lastPlace = 0
        /// When it wrote last, in milliseconds since the Unix epoch.
        var time: Int64
    }

    /// Identifies the names, and lasts as long as they do; nil until it is known.
    private(set) var id: String?
    /// True if a commit has stored the identifier.
    private var isIDStored = false
    private var clients: [String: Client] = [:]
    /// The clients that the turn has changed, as they were before.
    private var former: [String: Client?] = [:]

    init() {}

    /// Sets the identifier unless there is one, and returns it.
    mutating func identify(by newID: String) -> String {
        let id = id ?? newID
        self.id = id
        return id
    }

    /// True if a write was applied.
    func contains(_ token: WriteToken) -> Bool {
        clients[token.client]?.writes[token.write] != nil
    }

    /// Notes that a write was applied.
    mutating func insert(_ token: WriteToken, at time: Int64) {
        if clients[token.client] == nil, clients.count >= Self.maxClients { removeOldest() }
        noteChange(of: token.client)
        clients[token.client, default: Client(time: time)].insert(token, at: time)
    }

    /// Forgets the tenth of the clients that have not written for the longest time.
    private mutating func removeOldest() {
        let ids = clients.keys.sorted { left, right in
            guard let first = clients[left], let second = clients[right] else { return false }
            return (first.time, left) < (second.time, right)
        }
        for id in ids.prefix(Self.maxClients / 10) {
            noteChange(of: id)
            clients[id] = nil
        }
    }

    private mutating func noteChange(of client: String) {
        if former[client] == nil { former[client] = .some(clients[client]) }
    }

    // MARK: Turns

    /// Adds what the turn has changed to its commit.
    func addChanges(to commit: inout TreeCommit) {
        for id in former.keys {
            let record = clients[id].map { [$0.json.bytes] } ?? []
            commit.replaceRecords(of: RecordOwner(.client, id), with: record)
        }
        guard !former.isEmpty, !isIDStored, let id else { return }
        let json = JSONValue.object([JSONMember("id", .string(id))])
        commit.replaceRecords(of: Self.idOwner, with: [json.bytes])
    }

    /// The turn is stored.
    mutating func confirm() {
        if !former.isEmpty { isIDStored = true }
        former = [:]
    }

    /// The turn did not happen.
    mutating func revert() {
        for (id, client) in former { clients[id] = client }
        former = [:]
    }
}

extension MadeWrites.Client {
    mutating func insert(_ token: WriteToken, at time: Int64) {
        for write in token.answered { writes[write] = nil }
        lastPlace += 1
        writes[token.write] = lastPlace
        self.time = time
        guard writes.count > MadeWrites.maxWrites else { return }
        for write in ordered.prefix(MadeWrites.maxWrites / 10) { writes[write] = nil }
    }

    /// The writes in their order.
    var ordered: [String] {
        writes.sorted { $0.value < $1.value }.map(\.key)
    }
}

// MARK: - JSON

extension MadeWrites {
    private static let idOwner = RecordOwner(.names, "current")

    /// What a namespace has records of.
    init(_ stored: StoredTree) throws(LarderError) {
        if let record = stored.records[Self.idOwner]?.first {
            guard let json = try? JSONValue(parsing: record), case .string(let id)? = json["id"]
            else { throw .unreadableRecord }
            (self.id, isIDStored) = (id, true)
        }
        for (owner, records) in stored.records where owner.kind == .client {
            guard let record = records.first else { continue }
            clients[owner.id] = try Client(record: record)
        }
    }
}

// time    milliseconds since the Unix epoch
// writes  in their order

extension MadeWrites.Client {
    fileprivate var json: JSONValue {
        .object([
            JSONMember("time", .integer(time)),
            JSONMember("writes", .array(ordered.map { .string($0) })),
        ])
    }

    fileprivate init(record: [UInt8]) throws(LarderError) {
        guard let json = try? JSONValue(parsing: record), case .integer(let time)? = json["time"],
            case .array(let names)? = json["writes"]
        else { throw .unreadableRecord }
        self.init(time: time)
        for name in names {
            guard case .string(let write) = name else { throw .unreadableRecord }
            lastPlace += 1
            writes[write] = lastPlace
        }
    }
}
