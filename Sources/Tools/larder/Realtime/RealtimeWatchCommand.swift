import ArgumentParser
import LarderRealtime

/// `larder rtdb watch`: the events of a location or a query.
struct RealtimeWatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Prints the data of a location or a query, or its children's events.",
        discussion: """
            Prints one line per event. By default an event is the whole data, once it is \
            complete. With --children it is a child: + for an added, ~ for a changed, > for a \
            moved and - for a removed one, with its key and data. Queries are as for 'larder rtdb \
            query'. Control-C ends the command with exit status 0.

            Events come from the cache, from the backend and from pending writes that the backend \
            answers. Other processes cannot use the store meanwhile. Without a backend only what \
            is cached is shown.

            With --json, prints one object per line: event, key, previousKey and value of a \
            child; path, exists, isComplete, isFromCache, hasPendingWrites and value of all data.

            EXAMPLES
              larder rtdb watch scores --children
              larder rtdb watch scores --order-by-value --limit-to-last 2 --children --for 1
              larder rtdb watch .info/connected --count 2 --json
            """)

    @OptionGroup var query: RealtimeQueryOptions

    @Flag(help: "Print events of children.")
    var children = false

    @OptionGroup var limits: WatchLimits

    @OptionGroup var options: RealtimeOptions

    /// A line of output.
    private enum Event: Sendable {
        case value(DataSnapshot)
        case child(DatabaseQuery.ChildEvent)
    }

    func run() async throws {
        try await options.withDatabase(about: query.subject) { session in
            try await watch(query.query(in: session.database))
        }
    }

    private func watch(_ query: DatabaseQuery) async throws {
        // An invalid query fails before the message that it is watched.
        _ = try await query.freshness()
        let (events, feed) = AsyncThrowingStream<Event, any Error>.makeStream()
        let pump = children ? pumpChildren(of: query, to: feed) : nil
        defer { pump?.cancel() }
        // Changes of metadata alone are no events here.
        let observer =
            children
            ? nil
            : query.observeValue(includeMetadataChanges: false) {
                feed.yield(.value($0))
            } withCancel: {
                feed.finish(throwing: $0)
            }
        defer { if let observer { query.removeObserver(withHandle: observer) } }
        try Interruption.onRequest { feed.finish() }
        Messages.line("larder: watching \(self.query.path); control-C ends it")
        limits.afterTime { feed.finish() }
        let output = Output.standard()
        var rest = limits.count ?? .max
        for try await event in events {
            switch event {
            case .value(let snapshot): print(snapshot, to: output)
            case .child(let event): print(event, to: output)
            }
            try output.flush()
            rest -= 1
            if rest == 0 { return }
        }
    }

    private func pumpChildren(
        of query: DatabaseQuery, to feed: AsyncThrowingStream<Event, any Error>.Continuation
    ) -> Task<Void, Never> {
        Task {
            do {
                for try await event in query.childEvents { feed.yield(.child(event)) }
                feed.finish()
            } catch {
                feed.finish(throwing: error)
            }
        }
    }

    private func print(_ snapshot: DataSnapshot, to output: Output) {
        output.line(
            options.json ? RealtimeReport.snapshot(snapshot) : .snapshot(snapshot))
    }

    private func print(_ event: DatabaseQuery.ChildEvent, to output: Output) {
        let (sign, name) = Self.notation(of: event.type)
        let child = event.snapshot
        if options.json {
            output.line([
                "event": .string(name),
                "key": .string(child.key),
                "previousKey": event.previousSiblingKey.map { .string($0) } ?? .null,
                "value": .snapshot(child),
            ])
        } else {
            output.line("\(sign) \(child.key)  \(RealtimeJSON.text(child))")
        }
    }

    private static func notation(of type: DataEventType) -> (sign: String, name: String) {
        switch type {
        case .childAdded: ("+", "child_added")
        case .childChanged: ("~", "child_changed")
        case .childMoved: (">", "child_moved")
        case .childRemoved: ("-", "child_removed")
        case .value: ("=", "value")
        }
    }
}
