import LarderCore
import LarderRealtimeModel
import LarderStorage

/// The session of a client at the server, and the sessions of ended clients whose writes it sends.
///
/// A write that an ended client has sent may reach the server late, after this client has sent it
/// again. The server therefore ends these sessions first; see `WriteToken.former`.
struct ClientSessions: Equatable, Sendable {
    /// The session of the client's last connection; nil before the first.
    var last: String?
    /// The last sessions of clients that have ended.
    var former: [String] = []

    /// Takes the place of a client that has ended.
    mutating func takeOver(_ ended: ClientSessions) {
        let all = former + ended.former + (ended.last.map { [$0] } ?? [])
        former = all.suffix(WriteToken.maxFormer)
    }
}

/// The rows, as JSON:
///
///     global   realtime.session/CLIENT     last, former; CLIENT is 0 for the only client of a store
extension ReadableTransaction where Self: ~Copyable {
    /// - Parameter client: the number of the client; nil for the only one.
    func sessions(of client: ClientNumber?) throws(LarderError) -> ClientSessions {
        guard let row = try namedValue(.global, sessionName(client)) else {
            return ClientSessions()
        }
        return try ClientSessions(row: row.payload)
    }
}

extension WriteTransaction {
    /// Keeps the session of a client's connection.
    mutating func setLastSession(
        _ session: String, of client: ClientNumber?
    ) throws(LarderError) {
        var sessions = try sessions(of: client)
        sessions.last = session
        try put(sessions, of: client)
    }

    /// A client has taken the place of another one.
    ///
    /// - Returns: its sessions now.
    mutating func takeOverSessions(
        of ended: ClientNumber, by client: ClientNumber
    ) throws(LarderError) -> ClientSessions {
        try takeOverSessions([sessionName(ended)], by: client)
    }

    /// A client is alone: all others have ended.
    ///
    /// - Returns: its sessions now.
    mutating func takeOverAllSessions(
        by client: ClientNumber?
    ) throws(LarderError) -> ClientSessions {
        let own = sessionName(client)
        let names = try namedValueNames(.global, beginningWith: sessionPrefix)
        return try takeOverSessions(names.filter { $0 != own }, by: client)
    }

    private mutating func takeOverSessions(
        _ names: [String], by client: ClientNumber?
    ) throws(LarderError) -> ClientSessions {
        var sessions = try sessions(of: client)
        for name in names {
            guard let row = try namedValue(.global, name) else { continue }
            sessions.takeOver(try ClientSessions(row: row.payload))
            try removeNamedValue(.global, name)
        }
        if !names.isEmpty { try put(sessions, of: client) }
        return sessions
    }

    private mutating func put(
        _ sessions: ClientSessions, of client: ClientNumber?
    ) throws(LarderError) {
        var members = [JSONMember("former", .array(sessions.former.map { .string($0) }))]
        if let last = sessions.last { members.append(JSONMember("last", .string(last))) }
        try putNamedValue(.global, sessionName(client), JSONValue.object(members).bytes)
    }
}

private let sessionPrefix = "realtime.session/"

private func sessionName(_ client: ClientNumber?) -> String {
    sessionPrefix + String((client ?? .earlier).rawValue)
}

extension ClientSessions {
    fileprivate init(row: [UInt8]) throws(LarderError) {
        let json = try JSONValue(row: row)
        guard case .array(let names)? = json["former"] else { throw .unreadableSharedRow }
        former = names.compactMap { if case .string(let name) = $0 { name } else { nil } }
        if case .string(let name)? = json["last"] { last = name }
    }
}
