import DequeModule
import HeapModule

/// Work that waits, of clients that take turns by what their work has cost: start-time fair queueing.
///
///     client  time  waiting
///     a       40    a1 a2 a3      The next work is that of the client with the least time. A client that
///     b       41    b1            had nothing waiting begins at the time of the work that was taken last,
///     c       95    c1 c2         so that nobody saves turns up.
///
/// The work of one client keeps its order. A client can be held: its work waits until it is released.
///
/// Complexity: logarithmic in the number of clients with work.
package struct FairQueue<Client: Hashable, Work> {
    private struct Line {
        var waiting: Deque<Work> = []
        var time: Duration
        var isHeld = false
        /// The number of the line's entry among those that are ready; nil if it has none.
        var entry: UInt64?
    }

    private struct Entry: Comparable {
        let time: Duration
        let number: UInt64
        let client: Client

        static func < (left: Entry, right: Entry) -> Bool {
            (left.time, left.number) < (right.time, right.number)
        }

        static func == (left: Entry, right: Entry) -> Bool {
            left.number == right.number
        }
    }

    /// The cost of any work, so that clients alternate whose work takes no time.
    private static var leastCost: Duration { .microseconds(1) }
    /// The number of lines from which those without a meaning are looked for.
    private static var leastPruned: Int { 64 }

    private var lines: [Client: Line] = [:]
    /// The lines that may be next; entries that their lines no longer have are skipped.
    private var ready = Heap<Entry>()
    /// The number of lines that have an entry.
    private var readyCount = 0
    private var lastEntry: UInt64 = 0
    /// The time of the work that was taken last; when nothing waits, that of the client with the most.
    private var time = Duration.zero
    /// The most time of a client.
    private var latest = Duration.zero
    private var pruned = Self.leastPruned

    package init() {}

    /// True if ``next()`` returns work.
    package var isReady: Bool { readyCount > 0 }

    /// The number of clients that are known; for tests.
    var clientCount: Int { lines.count }

    /// The amount of work of a client that waits.
    package func count(of client: Client) -> Int { lines[client]?.waiting.count ?? 0 }

    /// Adds work behind that of its client.
    package mutating func add(_ work: Work, of client: Client) {
        withLine(client) { $0.waiting.append(work) }
    }

    /// Adds work in front of that of its client.
    package mutating func putBack(_ work: Work, of client: Client) {
        withLine(client) { $0.waiting.prepend(work) }
    }

    /// Takes the work whose turn it is; nil if none is ready.
    package mutating func next() -> (client: Client, work: Work)? {
        while let entry = ready.popMin() {
            guard let place = lines.index(forKey: entry.client),
                lines.values[place].entry == entry.number
            else { continue }
            lines.values[place].entry = nil
            readyCount -= 1
            // Its work has cost more since.
            if entry.time < lines.values[place].time {
                enter(place)
                continue
            }
            guard let work = lines.values[place].waiting.popFirst() else { continue }
            time = max(time, entry.time)
            addTime(Self.leastCost, to: place)
            enter(place)
            prune()
            return (entry.client, work)
        }
        return nil
    }

    /// Notes what the work of a client has cost.
    package mutating func charge(_ cost: Duration, to client: Client) {
        if let place = lines.index(forKey: client) { addTime(cost, to: place) }
    }

    private mutating func addTime(_ cost: Duration, to place: Dictionary<Client, Line>.Index) {
        lines.values[place].time += cost
        latest = max(latest, lines.values[place].time)
    }

    /// Lets the work of a client wait until it is released.
    package mutating func hold(_ client: Client) {
        withLine(client) { $0.isHeld = true }
    }

    /// Ends a hold.
    package mutating func release(_ client: Client) {
        guard lines[client]?.isHeld == true else { return }
        withLine(client) { $0.isHeld = false }
    }

    /// Removes work of a client that a closure chooses.
    package mutating func removeAll(of client: Client, where isRemoved: (Work) -> Bool) {
        guard lines[client] != nil else { return }
        withLine(client) { $0.waiting.removeAll(where: isRemoved) }
    }

    // MARK: Lines

    private mutating func withLine(_ client: Client, _ change: (inout Line) -> Void) {
        change(&lines[client, default: Line(time: time)])
        guard let place = lines.index(forKey: client) else { return }
        let isReady = !lines.values[place].waiting.isEmpty && !lines.values[place].isHeld
        if isReady {
            enter(place)
        } else if lines.values[place].entry != nil {
            lines.values[place].entry = nil
            readyCount -= 1
        }
    }

    /// Makes a line one of those that may be next, if it has work that may run.
    private mutating func enter(_ place: Dictionary<Client, Line>.Index) {
        let line = lines.values[place]
        guard line.entry == nil, !line.isHeld, !line.waiting.isEmpty else { return }
        if readyCount == 0 { time = latest }
        lastEntry += 1
        readyCount += 1
        lines.values[place].time = max(line.time, time)
        lines.values[place].entry = lastEntry
        ready.insert(
            Entry(
                time: lines.values[place].time, number: lastEntry, client: lines.keys[place]))
    }

    /// Forgets clients without work whose time has passed, once there are many.
    private mutating func prune() {
        guard lines.count > pruned else { return }
        lines = lines.filter {
            !$0.value.waiting.isEmpty || $0.value.isHeld || $0.value.time > time
        }
        pruned = 2 * lines.count + Self.leastPruned
    }
}
