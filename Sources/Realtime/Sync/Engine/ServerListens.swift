package import LarderRealtimeModel

/// The listens that a database wants at the server, and how far the server has answered them.
///
/// A pure machine. All listens are sent again on each connection, in the order in which they were
/// added.
package struct ServerListens: Sendable {
    /// A listen: its query and, unless it loads all data, its tag.
    package struct Key: Hashable, Sendable {
        package let query: QuerySpec
        package let tag: Int?

        package init(_ query: QuerySpec, tag: Int?) {
            self.query = query
            self.tag = tag
        }
    }

    private enum Progress: Sendable {
        case waiting
        case sent(number: Int)
        case answered
    }

    private struct Listen: Sendable {
        let place: UInt64
        var progress: Progress
    }

    private var listens: [Key: Listen] = [:]
    /// The listens that were not sent on this connection, by place.
    private var waiting: [UInt64: Key] = [:]
    private var sent: [Int: Key] = [:]
    private var lastPlace: UInt64 = 0

    package init() {}

    /// True while the server owes answers, so that answers to writes are withheld.
    package var hasUnanswered: Bool { !sent.isEmpty }

    /// True if no listen is wanted.
    package var isEmpty: Bool { listens.isEmpty }

    /// True if the server keeps the content of a listen up to date.
    package func isCurrent(_ key: Key) -> Bool {
        if case .answered = listens[key]?.progress { true } else { false }
    }

    /// The listens whose content the server keeps up to date, in no order.
    package var current: [Key] { listens.keys.filter { isCurrent($0) } }

    /// The listens of a query; those of all queries at its location if it loads all data.
    package func keys(of query: QuerySpec) -> [Key] {
        listens.keys.filter {
            $0.query.path == query.path && (query.loadsAllData || $0.query == query)
        }
    }

    /// True if data at a location may belong to a listen: that of its tag, or without one any that
    /// loads all data at, above or below the location.
    ///
    /// Complexity: O(d) for a location of depth d at or below a listen, otherwise O(n) for n listens.
    package func expectsData(at path: TreePath, tag: Int?) -> Bool {
        if tag != nil { return true }
        return (0...path.count).contains {
            listens[Key(QuerySpec(path.prefix($0)), tag: nil)] != nil
        } || listens.keys.contains { $0.tag == nil && path.isAncestorOrEqual(of: $0.query.path) }
    }

    /// A listen is wanted; it is sent with the next ones.
    package mutating func add(_ key: Key) {
        guard listens[key] == nil else { return }
        lastPlace += 1
        listens[key] = Listen(place: lastPlace, progress: .waiting)
        waiting[lastPlace] = key
    }

    /// A listen is not wanted any more.
    ///
    /// - Returns: true if the server must be told.
    package mutating func remove(_ key: Key) -> Bool {
        guard let listen = listens.removeValue(forKey: key) else { return false }
        switch listen.progress {
        case .waiting:
            waiting[listen.place] = nil
            return false
        case .sent(let number):
            sent[number] = nil
            return true
        case .answered:
            return true
        }
    }

    /// The listens to send, in order; the closure sends one and returns its number.
    package mutating func send(_ body: (Key) -> Int) {
        let keys = waiting.sorted { $0.key < $1.key }.map(\.value)
        waiting.removeAll(keepingCapacity: true)
        for key in keys {
            let number = body(key)
            listens[key]?.progress = .sent(number: number)
            sent[number] = key
        }
    }

    /// The server has answered; nil if the number is of no listen that is wanted.
    package mutating func answer(_ number: Int) -> Key? {
        guard let key = sent.removeValue(forKey: number) else { return nil }
        listens[key]?.progress = .answered
        return key
    }

    /// The connection has ended.
    package mutating func disconnect() {
        sent.removeAll()
        for (key, listen) in listens {
            waiting[listen.place] = key
            listens[key]?.progress = .waiting
        }
    }
}
