import LarderCore
import LarderRealtimeModel

/// What a commit tells the other clients of its store: the numbers of rows, which they read.
struct StoreChange: Equatable, Sendable {
    /// Writes and transactions that were added or have changed.
    var saved: [Int64] = []
    /// Those that were refused, cancelled or ended otherwise.
    var removed: [Int64] = []
    /// Those that the server has accepted.
    var accepted: [Int64] = []
    /// True if writes were added to the refused ones, or removed from them.
    var changesDeadLetters = false
    /// True if the cache rules were replaced.
    var changesCacheRules = false
    /// Listens that the client has begun.
    var begunListens: [Int64] = []
    var endedListens: [Int64] = []
    /// Clients that have ended.
    var endedClients: [Int64] = []
    /// Locations of a local database whose content was replaced.
    var localPaths: [String] = []

    var isEmpty: Bool { self == StoreChange() }
}

// MARK: - Coding

extension StoreChange {
    private typealias List = any WritableKeyPath<StoreChange, [Int64]> & Sendable

    private static let lists: [(name: String, list: List)] = [
        ("saved", \.saved), ("removed", \.removed), ("accepted", \.accepted),
        ("begun", \.begunListens), ("ended", \.endedListens),
        ("clients", \.endedClients),
    ]
    private static let localPathsName = "local"
    private static let deadLettersName = "dead"
    private static let cacheRulesName = "rules"

    /// The stored form, JSON.
    var payload: [UInt8] {
        var members = Self.lists.compactMap { name, list in
            self[keyPath: list].isEmpty
                ? nil : JSONMember(name, .array(self[keyPath: list].map { .integer($0) }))
        }
        if !localPaths.isEmpty {
            members.append(
                JSONMember(Self.localPathsName, .array(localPaths.map { .string($0) })))
        }
        if changesDeadLetters { members.append(JSONMember(Self.deadLettersName, .boolean(true))) }
        if changesCacheRules { members.append(JSONMember(Self.cacheRulesName, .boolean(true))) }
        return JSONValue.object(members).bytes
    }

    /// - Throws: `dataLoss` for anything but the stored form of a change.
    init(payload: [UInt8]) throws(LarderError) {
        let json = try JSONValue(row: payload)
        for (name, list) in Self.lists {
            self[keyPath: list] = try json[name]?.integers ?? []
        }
        localPaths = try json[Self.localPathsName]?.strings ?? []
        changesDeadLetters = json[Self.deadLettersName] == .boolean(true)
        changesCacheRules = json[Self.cacheRulesName] == .boolean(true)
    }
}

extension JSONValue {
    /// The value's text.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        JSONWriter.append(self, to: &bytes)
        return bytes
    }

    /// The value of a row that the clients of a store share.
    init(row: [UInt8]) throws(LarderError) {
        do {
            self = try JSONValue(parsing: row)
        } catch {
            throw .unreadableSharedRow
        }
    }

    /// The elements of an array of integers.
    var integers: [Int64] {
        get throws(LarderError) {
            guard case .array(let values) = self else { throw .unreadableSharedRow }
            var integers: [Int64] = []
            for value in values { integers.append(try value.integer) }
            return integers
        }
    }

    /// The elements of an array of strings.
    var strings: [String] {
        get throws(LarderError) {
            guard case .array(let values) = self else { throw .unreadableSharedRow }
            var strings: [String] = []
            for value in values {
                guard case .string(let string) = value else { throw .unreadableSharedRow }
                strings.append(string)
            }
            return strings
        }
    }

    var integer: Int64 {
        get throws(LarderError) {
            guard case .integer(let integer) = self else { throw .unreadableSharedRow }
            return integer
        }
    }

    /// The integer of a member; 0 if there is none.
    func integer(_ name: String) throws(LarderError) -> Int64 {
        try self[name]?.integer ?? 0
    }
}

extension LarderError {
    static var unreadableSharedRow: LarderError {
        LarderError(
            realtime: .dataLoss, "a row that the clients of a store share cannot be read",
            condition: .corrupt)
    }
}
