package import LarderRealtimeRemote

/// The requests of a database that change the server's data now or when the connection ends, in
/// the order in which the application made them.
///
/// A pure machine. Puts, merges, transactions and operations for the end of the connection share
/// one order, so that what was armed before a write reaches the server before it. A request stays
/// until it is answered, and goes out again on the next connection; one that may only be applied once
/// does so only if the server can tell whether it was. Answers are withheld while listens are
/// unanswered: the server's data precedes the answer to the write that led to it.
package struct RequestOutbox: Sendable {
    /// The place of a request in the order.
    package typealias ID = UInt64

    /// A request of the order.
    package struct Entry: Sendable {
        /// The request.
        package var request: RealtimeRequest
        /// True if the request is sent again, when the connection ends before its answer, only to a
        /// server that keeps its name.
        package var isSentOnce: Bool
        /// The names of the server that may have made the request, whose answer was lost; nil if it
        /// was not made.
        fileprivate var namesID: String?

        package init(_ request: RealtimeRequest, isSentOnce: Bool = false) {
            self.request = request
            self.isSentOnce = isSentOnce
        }
    }

    /// An answer that may be delivered.
    package struct Answer: Sendable {
        package let id: ID
        package let response: RealtimeResponse
    }

    /// A request to send under a number.
    package struct Sending: Sendable {
        package let id: ID
        package let request: RealtimeRequest
    }

    /// The most requests that are unanswered at a time; further ones wait.
    private static let maxInFlight = 1_000

    private var entries: [ID: Entry] = [:]
    /// The requests that were sent on this connection and not answered, by number.
    private var inFlight: [Int: ID] = [:]
    private var sentIDs: Set<ID> = []
    private var withheld: [Answer] = []
    /// Not above the first request that is left.
    private var firstID: ID = 1
    /// Not above the first request that is to be sent.
    private var nextID: ID = 1
    private var lastID: ID = 0

    package init() {}

    /// The number of requests without a delivered answer.
    package var count: Int { entries.count }

    /// True if nothing is left to answer.
    package var isEmpty: Bool { entries.isEmpty }

    /// Makes room for a number of requests.
    package mutating func reserveCapacity(_ count: Int) {
        entries.reserveCapacity(count)
    }

    /// Adds a request after all others.
    package mutating func add(_ entry: Entry) -> ID {
        lastID += 1
        entries[lastID] = entry
        return lastID
    }

    /// Replaces a request that was not sent; false if it is gone or was sent.
    package mutating func replace(_ id: ID, with request: RealtimeRequest) -> Bool {
        guard entries[id] != nil, !sentIDs.contains(id) else { return false }
        entries[id]?.request = request
        return true
    }

    /// Removes a request that was not sent; false if it is gone or was sent.
    package mutating func cancel(_ id: ID) -> Bool {
        remove(id) != nil
    }

    /// Removes a request that was not sent; nil if it is gone or was sent.
    package mutating func remove(_ id: ID) -> Entry? {
        sentIDs.contains(id) ? nil : entries.removeValue(forKey: id)
    }

    /// Removes the requests from a place on that were not sent.
    ///
    /// Complexity: O(n log n) for n requests.
    package mutating func removeUnsent(from first: ID) -> [(id: ID, entry: Entry)] {
        let ids = entries.keys.filter { $0 >= first && !sentIDs.contains($0) }.sorted()
        return ids.compactMap { id in entries.removeValue(forKey: id).map { (id, $0) } }
    }

    /// Puts a request back in its place that was removed.
    package mutating func putBack(_ id: ID, _ entry: Entry) {
        entries[id] = entry
        (firstID, nextID) = (min(firstID, id), min(nextID, id))
    }

    /// True if a request was sent on this connection and is not answered.
    package func isInFlight(_ id: ID) -> Bool { sentIDs.contains(id) }

    /// The last request, unless it was sent.
    package var lastUnsent: (id: ID, request: RealtimeRequest)? {
        guard let entry = entries[lastID], !sentIDs.contains(lastID) else { return nil }
        return (lastID, entry.request)
    }
}

// MARK: - Sending

extension RequestOutbox {
    /// The next request to send, which counts as sent; nil if there is none or too many are
    /// unanswered.
    package mutating func next(number: () -> Int) -> (number: Int, sending: Sending)? {
        guard inFlight.count < Self.maxInFlight else { return nil }
        while nextID <= lastID {
            let id = nextID
            nextID += 1
            guard let entry = entries[id], !sentIDs.contains(id) else { continue }
            let number = number()
            inFlight[number] = id
            sentIDs.insert(id)
            return (number, Sending(id: id, request: entry.request))
        }
        return nil
    }

    /// A request that counts as sent was not sent after all.
    package mutating func takeBack(_ number: Int) {
        guard let id = inFlight.removeValue(forKey: number) else { return }
        sentIDs.remove(id)
        nextID = min(nextID, id)
    }

    /// The connection has ended: what was sent is sent again on the next one, except what may only
    /// be sent once if the server keeps no names.
    ///
    /// - Parameter namesID: what identifies the names that the server keeps; nil for none.
    /// - Returns: the requests that may only be sent once and have no answer, in order; they are
    ///   removed. Withheld answers, which are valid, come first.
    package mutating func disconnect(namesID: String? = nil) -> (answers: [Answer], lost: [ID]) {
        let answers = deliverWithheld()
        var lost: [ID] = []
        for id in sentIDs where entries[id]?.isSentOnce == true {
            if let namesID { entries[id]?.namesID = namesID } else { lost.append(id) }
        }
        lost.sort()
        for id in lost { entries[id] = nil }
        inFlight.removeAll()
        sentIDs.removeAll()
        nextID = firstID
        return (answers, lost)
    }

    /// Removes the requests that may only be sent once and whose answers were lost, unless a server
    /// with their names is there.
    ///
    /// Complexity: O(n log n) for n requests.
    ///
    /// - Parameter namesID: what identifies the names of the server; nil for none.
    /// - Returns: the removed requests, in order.
    package mutating func removeUnknown(besides namesID: String? = nil) -> [ID] {
        let unknown = entries.filter { id, entry in
            entry.namesID != nil && entry.namesID != namesID && !sentIDs.contains(id)
        }
        for id in unknown.keys { entries[id] = nil }
        return unknown.keys.sorted()
    }

    /// Removes everything, in order, withheld answers first.
    package mutating func removeAll() -> (answers: [Answer], removed: [ID]) {
        let answers = deliverWithheld()
        let removed = entries.keys.sorted()
        entries.removeAll()
        inFlight.removeAll()
        sentIDs.removeAll()
        (firstID, nextID) = (lastID + 1, lastID + 1)
        return (answers, removed)
    }
}

// MARK: - Answers

extension RequestOutbox {
    /// The server has answered a request; nil if the number is of no request here.
    ///
    /// - Parameter isWithheld: true while listens are unanswered.
    /// - Returns: the answers that may be delivered.
    package mutating func answer(
        _ number: Int, _ response: RealtimeResponse, isWithheld: Bool
    ) -> [Answer]? {
        guard let id = inFlight.removeValue(forKey: number) else { return nil }
        withheld.append(Answer(id: id, response: response))
        return isWithheld ? [] : deliverWithheld()
    }

    /// No listen is unanswered any more.
    package mutating func deliverWithheld() -> [Answer] {
        defer { withheld.removeAll(keepingCapacity: true) }
        for answer in withheld {
            entries[answer.id] = nil
            sentIDs.remove(answer.id)
        }
        while firstID <= lastID, entries[firstID] == nil { firstID += 1 }
        return withheld
    }
}
