import LarderModel
import LarderQuery
import LarderRemote
import SimulationSupport

/// The way between one client and the backend, of which the client sees nothing but a remote.
///
/// Everything takes a while by chance. A stream keeps its order; streams overtake each other, and
/// calls overtake streams.
final class FaultyNetwork: Remote, LineCarrier, @unchecked Sendable {
    // One thread runs a world.

    /// What the network does with messages.
    enum Weather: Equatable {
        /// They arrive.
        case clear
        /// Nothing arrives, and nobody is told.
        case silent
        /// Connections end, and no new ones are made.
        case refusing
    }

    /// How long a connection that does not answer is waited for.
    static let patience = Duration.seconds(30)

    let events: EventQueue
    let chance: Chance
    let journal: Journal
    let faults: FaultPlan
    let backend: SimulatedBackend
    let audit: WriteAudit
    /// The client's number.
    let number: Int
    /// The last snapshot that the client has been told of.
    private(set) var lastSnapshotVersion = SnapshotVersion.none

    private(set) var weather = Weather.clear
    private var weatherNumber = 0
    private let typicalLatency: Duration
    private var connections: [any Breakable] = []
    private var streamCount = 0
    private var sentCount: UInt64 = 0
    private var lastArrived: UInt64 = 0

    /// The network between a backend and a client.
    init(
        events: EventQueue, chance: Chance, journal: Journal, faults: FaultPlan,
        backend: SimulatedBackend, audit: WriteAudit, number: Int
    ) {
        (self.events, self.chance, self.journal, self.faults) = (events, chance, journal, faults)
        (self.backend, self.audit, self.number) = (backend, audit, number)
        typicalLatency = chance.duration(.microseconds(100)...(.milliseconds(100)))
    }

    /// Forgets the streams, each of which holds the network.
    func retire() {
        connections = []
    }

    /// How long a message takes.
    func latency() -> Duration {
        chance.duration(typicalLatency...(typicalLatency * (chance.oneIn(20) ? 50 : 3)))
    }

    var isSilent: Bool { weather == .silent }
    var isRefusing: Bool { weather == .refusing }

    // MARK: Weather

    /// Changes what the network does, for a while.
    func turn(_ weather: Weather, for duration: Duration) {
        clear()
        weatherNumber += 1
        let number = weatherNumber
        self.weather = weather
        switch weather {
        case .clear: return
        case .refusing:
            journal.note(.refusing, "client \(self.number) for \(duration)")
            breakAll(LarderError(.unavailable, "the network is down"))
        case .silent:
            journal.note(.silence, "client \(self.number) for \(duration)")
            if duration > Self.patience { giveUp(after: Self.patience, number) }
        }
        events.schedule(after: duration) {
            if self.weatherNumber == number { self.clear() }
        }
    }

    private func giveUp(after delay: Duration, _ number: Int) {
        events.schedule(after: delay) { [self] in
            guard weatherNumber == number, isSilent else { return }
            journal.note(.longSilence)
            breakAll(LarderError(.unavailable, "the connection has timed out"))
            giveUp(after: Self.patience, number)
        }
    }

    private func breakAll(_ error: LarderError) {
        for connection in connections { connection.breakOff(error) }
    }

    /// Lets everything arrive from now on.
    func clear() {
        weatherNumber += 1
        guard weather != .clear else { return }
        weather = .clear
        journal.note("client \(number) has a network again")
        for connection in connections { connection.resume() }
    }

    /// An error as streams break with.
    func error() -> LarderError {
        let code = chance.pick([
            (12, LarderError.Code.unavailable), (2, .internal), (2, .cancelled), (1, .unknown),
            (1, .deadlineExceeded), (1, .aborted), (1, .unauthenticated), (1, .resourceExhausted),
        ])
        if code == .unauthenticated { journal.note(.tokenRefused) }
        if code == .resourceExhausted { journal.note(.exhausted) }
        return LarderError(code, "the connection was lost")
    }

    // MARK: What is on the way

    func newStreamNumber() -> Int {
        streamCount += 1
        return streamCount
    }

    func add(_ connection: any Breakable) {
        connections.append(connection)
        if isSilent { journal.note(.streamSilent) }
    }

    func remove(_ connection: any Breakable) {
        connections.removeAll { $0 === connection }
    }

    /// Numbers a message that leaves.
    func numberMessage() -> UInt64 {
        sentCount += 1
        return sentCount
    }

    /// Notes the arrival of a message.
    func noteArrival(_ message: UInt64) {
        if message < lastArrived { journal.note(.overtaken) }
        lastArrived = max(lastArrived, message)
    }

    /// Notes that the client hears of a snapshot.
    func noteSnapshot(_ version: SnapshotVersion) {
        lastSnapshotVersion = max(lastSnapshotVersion, version)
    }

    func invalidateToken() {}
}
