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

    /// The server's answer to a request about a listen.
    package enum Answer: Equatable, Sendable {
        /// To a listen; with the hash that it was sent with if its content has changed since by
        /// other means than the listen.
        case listen(Key, disturbedHash: String?)
        /// To the end of a listen.
        case unlisten
    }

    private enum Progress: Sendable {
        case waiting
        case sent(number: Int, hash: String, isDisturbed: Bool)
        case answered
        /// To be ended and sent again; the number of the end if that was sent.
        case restarting(number: Int?)
    }

    private struct Listen: Sendable {
        let place: UInt64
        var progress: Progress
    }

    private var listens: [Key: Listen] = [:]
    /// The paths of listens without a tag.
    private var plain = PathTree<Bool>()
    /// The listens that were not sent on this connection, by place.
    private var waiting: [UInt64: Key] = [:]
    private var sent: [Int: Key] = [:]
    private var restarting: Set<Key> = []
    /// Listens whose end the server has not answered: data of theirs may follow.
    ///
    /// Those with a tag are in it only if they restart.
    private var ending: [Int: Key] = [:]
    /// The count of those by path.
    private var endingPaths = PathTree<Int>()
    private var lastPlace: UInt64 = 0

    package init() {}

    /// True while the server owes answers, so that answers to writes are withheld.
    package var hasUnanswered: Bool { !sent.isEmpty || !restarting.isEmpty }

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
    /// Complexity: O(d) for a location of depth d.
    package func expectsData(at path: TreePath, tag: Int?) -> Bool {
        tag != nil || plain.hasValues(overlapping: path)
    }

    /// A listen is wanted; it is sent with the next ones.
    package mutating func add(_ key: Key) {
        guard listens[key] == nil else { return }
        lastPlace += 1
        listens[key] = Listen(place: lastPlace, progress: .waiting)
        waiting[lastPlace] = key
        if key.tag == nil { plain[key.query.path] = true }
    }

    /// A listen is not wanted any more.
    ///
    /// - Returns: true if the server has it: its end is to be sent, and noted by
    ///   ``sentEnd(of:as:)``.
    package mutating func remove(_ key: Key) -> Bool {
        guard let listen = listens.removeValue(forKey: key) else { return false }
        if key.tag == nil { plain[key.query.path] = nil }
        switch listen.progress {
        case .waiting:
            waiting[listen.place] = nil
            return false
        case .sent(let number, _, _):
            sent[number] = nil
            return true
        case .answered:
            return true
        case .restarting(let number):
            restarting.remove(key)
            return number == nil
        }
    }

    /// The end of a listen is sent.
    package mutating func sentEnd(of key: Key, as number: Int) {
        if case .restarting? = listens[key]?.progress {
            listens[key]?.progress = .restarting(number: number)
        } else if key.tag != nil {
            return
        }
        ending[number] = key
        endingPaths.update(at: key.query.path) { place in
            place.updateValue { $0 = ($0 ?? 0) + 1 }
        }
    }

    /// The listens to end, and to send again once the server has answered that.
    package var toRestart: [Key] {
        restarting.filter { key in
            if case .restarting(number: nil)? = listens[key]?.progress { true } else { false }
        }
    }

    /// The listens to send, in order; the closure sends one and returns its number and hash.
    package mutating func send(_ body: (Key) -> (number: Int, hash: String)) {
        let keys = waiting.sorted { $0.key < $1.key }.map(\.value)
        waiting.removeAll(keepingCapacity: true)
        for key in keys {
            let (number, hash) = body(key)
            let isDisturbed = endingPaths.hasValues(overlapping: key.query.path)
            listens[key]?.progress = .sent(number: number, hash: hash, isDisturbed: isDisturbed)
            sent[number] = key
        }
    }

    /// Content at a location has changed by other means than a listen, such as the answer to a get.
    ///
    /// The server compares the hash of a listen that is under way with the content it has when it
    /// gets there. If that has changed back meanwhile, no data follows.
    ///
    /// Complexity: O(n) for n listens under way.
    package mutating func disturb(at path: TreePath) {
        for (number, key) in sent where key.query.path.overlaps(path) {
            guard case .sent(_, let hash, _)? = listens[key]?.progress else { continue }
            listens[key]?.progress = .sent(number: number, hash: hash, isDisturbed: true)
        }
    }

    /// The server has answered; nil if the number is of no listen that is wanted, and of no end.
    package mutating func answer(_ number: Int) -> Answer? {
        if let key = ending.removeValue(forKey: number) {
            endingPaths.update(at: key.query.path) { place in
                place.updateValue { $0 = $0.flatMap { $0 > 1 ? $0 - 1 : nil } }
            }
            if case .restarting(number)? = listens[key]?.progress, let place = listens[key]?.place {
                restarting.remove(key)
                listens[key]?.progress = .waiting
                waiting[place] = key
            }
            return .unlisten
        }
        guard let key = sent.removeValue(forKey: number) else { return nil }
        var disturbedHash: String?
        if case .sent(_, let hash, isDisturbed: true)? = listens[key]?.progress {
            disturbedHash = hash
        }
        listens[key]?.progress = .answered
        return .listen(key, disturbedHash: disturbedHash)
    }

    /// A listen that the server has answered is ended and sent again.
    package mutating func restart(_ key: Key) {
        guard isCurrent(key) else { return }
        listens[key]?.progress = .restarting(number: nil)
        restarting.insert(key)
    }

    /// The connection has ended.
    package mutating func disconnect() {
        sent.removeAll()
        restarting.removeAll()
        ending.removeAll()
        endingPaths = PathTree()
        for (key, listen) in listens {
            waiting[listen.place] = key
            listens[key]?.progress = .waiting
        }
    }
}
