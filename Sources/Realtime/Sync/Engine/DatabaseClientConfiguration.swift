package import LarderCore
package import LarderRealtimeModel
package import LarderRealtimeRemote
package import LarderRuntime
package import LarderStorage

/// The timers of an engine.
package enum DatabaseTimer: Hashable, Sendable {
    /// Those of the connection.
    case connection(ConnectionMachine.Timer)
    /// The limit of a get.
    case get(UInt64)
    /// The next attempt to commit what the disk has refused.
    case recovery
    /// The limit for handlers of transactions of an earlier run.
    case transactionHandlers
    /// The next look at the other clients of the store.
    case clients
    /// The next check for queries that cache rules find too old.
    case cacheRules
}

/// The threads, clock and random numbers of an engine.
package typealias EngineScheduler = Scheduler<DatabaseTimer>

/// Where tokens come from.
package protocol TokenSource: Sendable {
    /// Fetches the token of the signed-in user; nil if there is none.
    ///
    /// - Parameters:
    ///   - forcingRefresh: true if the server has refused the last token.
    ///   - completion: called once, on any thread.
    func fetchToken(forcingRefresh: Bool, _ completion: @escaping Completion<String?>)
}

/// How a client is opened.
package struct DatabaseClientConfiguration: Sendable {
    /// The store below it; nil to keep nothing but what listeners and pending writes need.
    package var storage: StoreConfiguration?

    /// How the client shares its store; nil for the store's own file, if its access is shared.
    package var sharing: StoreSharing?

    /// True if other clients may use the store.
    var isShared: Bool { storage != nil && (sharing != nil || storage?.access == .shared) }

    /// The server; nil for none.
    package var remote: (any RealtimeRemote)?

    /// True for a local database: it has no server, and a local commit is final.
    ///
    /// A store that was opened so stays local until it is opened with a server.
    package var isLocal = false

    /// The handling of a local database's data when it is opened with a server; nil to refuse.
    package var localData: LocalData?

    /// True if no connection is made until ``DatabaseClient/goOnline()``.
    package var startsOffline = false

    /// Where tokens come from; nil for no authentication.
    package var tokens: (any TokenSource)?

    /// True if the last accepted token is kept in the store.
    package var keepsToken = false

    /// True if a write that is overwritten before it was sent is not sent.
    package var mergesOverwrittenWrites = false

    /// The cache rules from the start; nil for those of the store.
    package var cacheRules: TreeCacheRules?

    /// The time that a get waits for the server.
    package var getTimeout = Duration.seconds(3)

    /// The time that transactions of an earlier run wait for their handlers.
    package var transactionHandlerWait = Duration.seconds(60)

    /// Threads, clock and random numbers.
    package var scheduler: any EngineScheduler = QueueScheduler<DatabaseTimer>(
        label: "larder.realtime", errorDomain: LarderError.realtimeDomain)

    /// The local clock, for server values and the times of writes.
    package var clock: @Sendable () -> Timestamp = { Timestamp.now() }

    /// Called before each commit, which fails with what it throws; for tests.
    package var guarding: (@Sendable () throws(LarderError) -> Void)?

    /// Receives warnings.
    package var log: @Sendable (String) -> Void = { _ in }

    /// A client with the defaults for everything else.
    package init(storage: StoreConfiguration?) {
        self.storage = storage
    }
}

extension Timestamp {
    /// The time of milliseconds since the Unix epoch.
    package init(milliseconds: Int64) {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let isBefore = rest < 0
        self.init(
            seconds: isBefore ? seconds - 1 : seconds,
            nanoseconds: Int32(isBefore ? rest + 1000 : rest) * 1_000_000)
    }

    /// Milliseconds since the Unix epoch.
    package var milliseconds: Int64 {
        seconds * 1000 + Int64(nanoseconds) / 1_000_000
    }
}

extension Duration {
    /// The whole milliseconds of the duration.
    package var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
