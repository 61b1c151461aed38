import LarderRealtimeModel
import LarderRealtimeRemote
import SimulationSupport

/// The network between one client and the server.
final class LinkNetwork: RealtimeRemote, LineCarrier, @unchecked Sendable {
    // One thread runs a world.

    /// The state of the network.
    enum Weather {
        /// They arrive.
        case clear
        /// Nothing arrives, and neither end is notified.
        case silent
        /// Connections end, and no new ones are made.
        case refusing
    }

    /// How long a connection that does not answer is kept.
    private static let patience = Duration.seconds(30)

    let events: EventQueue
    let chance: Chance
    let journal: Journal
    let faults: LinkFaults
    let server: SimulatedServer
    /// The client's number.
    let number: Int
    /// Finds the record of a request that the client sends.
    var sending: (RealtimeRequest, SimulatedLink) -> RequestRecord? = { _, _ in nil }

    private(set) var weather = Weather.clear
    private var weatherNumber = 0
    private let typicalLatency: Duration
    private(set) var links: [SimulatedLink] = []
    private var linkCount = 0

    /// The network between a server and a client.
    init(
        events: EventQueue, chance: Chance, journal: Journal, faults: LinkFaults,
        server: SimulatedServer, number: Int
    ) {
        (self.events, self.chance, self.journal, self.faults) = (events, chance, journal, faults)
        (self.server, self.number) = (server, number)
        typicalLatency = chance.duration(.microseconds(100)...(.milliseconds(100)))
    }

    func connect(
        _ request: ConnectRequest, _ handler: @escaping @Sendable (ConnectionEvent) -> Void
    ) -> any RealtimeConnection {
        // Undelivered requests of an earlier connection are lost.
        for link in links { link.cutToServer() }
        linkCount += 1
        let link = SimulatedLink(self, number: linkCount, request, handler)
        links.append(link)
        return link
    }

    func remove(_ link: SimulatedLink) {
        links.removeAll { $0 === link }
    }

    /// Releases the connections, which retain the network.
    func retire() {
        links = []
        sending = { _, _ in nil }
    }

    /// The latency of a message.
    func latency() -> Duration {
        chance.duration(typicalLatency...(typicalLatency * (chance.oneIn(20) ? 50 : 3)))
    }

    /// The time until the end of a connection is noticed.
    func noticeDelay() -> Duration {
        chance.oneIn(4) ? chance.duration(.milliseconds(10)...(.seconds(60))) : latency()
    }

    var isSilent: Bool { weather == .silent }
    var isRefusing: Bool { weather == .refusing }

    // Each connection keeps its order; there is one at a time.
    func numberMessage() -> UInt64 { 0 }
    func noteArrival(_ message: UInt64) {}

    // MARK: Weather

    /// Changes the state of the network for a while.
    func turn(_ weather: Weather, for duration: Duration) {
        clear()
        weatherNumber += 1
        let number = weatherNumber
        self.weather = weather
        switch weather {
        case .clear: return
        case .refusing:
            journal.note("client \(self.number) has no network for \(duration)")
            for link in links { link.breakOff() }
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
            for link in links { link.breakOff() }
            giveUp(after: Self.patience, number)
        }
    }

    /// Ends all disturbances; messages arrive again.
    func clear() {
        weatherNumber += 1
        guard weather != .clear else { return }
        weather = .clear
        journal.note("client \(number) has a network again")
        for link in links { link.resume() }
    }
}
