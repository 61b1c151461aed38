import LarderCore
import LarderRealtimeModel
import LarderStorage

/// A client as the other clients of its store see it.
struct DatabaseClientRow: Equatable, Sendable {
    let number: ClientNumber
    /// The clients whose writes it sends: itself and those that it has replaced.
    var served: Set<ClientNumber>
    /// It has applied every commit of other clients up to this one.
    var appliedCommit: UInt64
}

/// What all clients of a store know of it.
struct SharedStoreState: Equatable, Sendable {
    /// The largest number of a write that is older than all clients.
    var base: Int64 = 0
    /// The number that a client was given last.
    var lastClient = ClientNumber(0)
    /// Entries of the journal up to this commit were removed.
    var floor: UInt64 = 0
}

/// The rows that the clients of a store keep in it, as JSON:
///
///     client   the client's number       served, applied
///     shared   realtime                  base, last, floor
///              listen/CLIENT/NUMBER      path, parameters of the query
///              accepted/WRITE            exact, values: pairs of a path and a node
///     journal  COMMIT:CLIENT             ``StoreChange``
extension ReadableTransaction where Self: ~Copyable {
    func clientRows() throws(LarderError) -> [DatabaseClientRow] {
        var rows: [DatabaseClientRow] = []
        for value in try namedValues(.client) {
            guard let number = Int64(value.name) else { continue }
            let json = try JSONValue(row: value.payload)
            let served = try json["served"]?.integers ?? []
            rows.append(
                DatabaseClientRow(
                    number: ClientNumber(number), served: Set(served.map { ClientNumber($0) }),
                    appliedCommit: UInt64(bitPattern: try json.integer("applied"))))
        }
        return rows
    }

    /// True if there are clients beside one.
    func hasClients(beside own: ClientNumber) throws(LarderError) -> Bool {
        try namedValueNames(.client, limit: 2).contains { $0 != String(own.rawValue) }
    }

    func sharedStoreState() throws(LarderError) -> SharedStoreState {
        guard let value = try namedValue(.shared, stateName) else { return SharedStoreState() }
        let json = try JSONValue(row: value.payload)
        return SharedStoreState(
            base: try json.integer("base"), lastClient: ClientNumber(try json.integer("last")),
            floor: UInt64(bitPattern: try json.integer("floor")))
    }

    /// The results of writes that are not in the cache yet, by number.
    func acceptedWrites() throws(LarderError) -> [AcceptedWrite] {
        var writes: [AcceptedWrite] = []
        for value in try namedValues(.shared, beginningWith: acceptedPrefix) {
            guard let id = Int64(value.name.dropFirst(acceptedPrefix.count)) else { continue }
            writes.append(try AcceptedWrite(WriteID(id), row: value.payload))
        }
        return writes.sorted { $0.id < $1.id }
    }

    /// The result of a write; nil if it is in the cache.
    func acceptedWrite(_ id: WriteID) throws(LarderError) -> AcceptedWrite? {
        guard let value = try namedValue(.shared, acceptedPrefix + String(id.rawValue)) else {
            return nil
        }
        return try AcceptedWrite(id, row: value.payload)
    }

    /// A listen of a client; nil if it has ended.
    func listen(_ number: Int64, of client: ClientNumber) throws(LarderError) -> QuerySpec? {
        guard let value = try namedValue(.shared, listenPrefix(client) + String(number)) else {
            return nil
        }
        return try QuerySpec(row: value.payload)
    }

    /// All listens of a client, by number.
    func listens(of client: ClientNumber) throws(LarderError) -> [Int64: QuerySpec] {
        let prefix = listenPrefix(client)
        var listens: [Int64: QuerySpec] = [:]
        for value in try namedValues(.shared, beginningWith: prefix) {
            guard let number = Int64(value.name.dropFirst(prefix.count)) else { continue }
            listens[number] = try QuerySpec(row: value.payload)
        }
        return listens
    }
}

extension WriteTransaction {
    mutating func put(_ row: DatabaseClientRow) throws(LarderError) {
        let served = row.served.sorted().map { JSONValue.integer($0.rawValue) }
        let json = JSONValue.object([
            JSONMember("served", .array(served)),
            JSONMember("applied", .integer(Int64(bitPattern: row.appliedCommit))),
        ])
        try putNamedValue(.client, String(row.number.rawValue), json.bytes)
    }

    mutating func removeClientRow(_ client: ClientNumber) throws(LarderError) {
        try removeNamedValue(.client, String(client.rawValue))
    }

    mutating func put(_ state: SharedStoreState) throws(LarderError) {
        let json = JSONValue.object([
            JSONMember("base", .integer(state.base)),
            JSONMember("last", .integer(state.lastClient.rawValue)),
            JSONMember("floor", .integer(Int64(bitPattern: state.floor))),
        ])
        try putNamedValue(.shared, stateName, json.bytes)
    }

    mutating func putListen(
        _ number: Int64, of client: ClientNumber, _ query: QuerySpec
    ) throws(LarderError) {
        let json = JSONValue.object([
            JSONMember("path", .string(query.path.text)),
            JSONMember("parameters", query.parameters.json),
        ])
        try putNamedValue(.shared, listenPrefix(client) + String(number), json.bytes)
    }

    mutating func removeListen(_ number: Int64, of client: ClientNumber) throws(LarderError) {
        try removeNamedValue(.shared, listenPrefix(client) + String(number))
    }

    mutating func removeListens(of client: ClientNumber) throws(LarderError) {
        for name in try namedValueNames(.shared, beginningWith: listenPrefix(client)) {
            try removeNamedValue(.shared, name)
        }
    }

    mutating func put(_ write: AcceptedWrite) throws(LarderError) {
        try putNamedValue(.shared, acceptedPrefix + String(write.id.rawValue), write.json.bytes)
    }

    mutating func removeAcceptedWrite(_ id: WriteID) throws(LarderError) {
        try removeNamedValue(.shared, acceptedPrefix + String(id.rawValue))
    }

    /// Removes everything that clients which have all ended have left, but for their writes, whether
    /// pending or accepted.
    mutating func removeClientState() throws(LarderError) {
        for kind in [NamedValue.Kind.client, .journal, .shared] {
            for name in try namedValueNames(kind) where !name.hasPrefix(acceptedPrefix) {
                try removeNamedValue(kind, name)
            }
        }
    }
}

private let stateName = "realtime"

private let acceptedPrefix = "accepted/"

private func listenPrefix(_ client: ClientNumber) -> String { "listen/\(client.rawValue)/" }

extension QuerySpec {
    fileprivate init(row: [UInt8]) throws(LarderError) {
        let json = try JSONValue(row: row)
        guard case .string(let path) = json["path"], let parameters = json["parameters"] else {
            throw .unreadableSharedRow
        }
        self.init(TreePath(path), try QueryParameters(json: parameters))
    }
}

extension AcceptedWrite {
    fileprivate var json: JSONValue {
        let pairs = values.map {
            JSONValue.array([.string($0.path.text), $0.node.exportedJSON])
        }
        return .object([
            JSONMember("exact", .boolean(isExact)), JSONMember("values", .array(pairs)),
        ])
    }

    fileprivate init(_ id: WriteID, row: [UInt8]) throws(LarderError) {
        let json = try JSONValue(row: row)
        guard case .array(let pairs)? = json["values"] else { throw .unreadableSharedRow }
        var values: [PathValue] = []
        for pair in pairs {
            guard case .array(let parts) = pair, parts.count == 2, case .string(let text) = parts[0]
            else { throw .unreadableSharedRow }
            let path = TreePath(text)
            values.append(PathValue(path, try Node(validating: parts[1], at: path)))
        }
        self.init(id, values, isExact: json["exact"] == .boolean(true))
    }
}
