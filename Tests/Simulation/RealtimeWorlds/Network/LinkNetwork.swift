import LarderRealtimeModel
import LarderRealtimeRemote
import SimulationSupport

/// The network between one client and the server.
final class LinkNetwork: RealtimeRemote, LineCarrier, @unchecked Sendable {
    // One thread runs a world.

    let events: EventQueue
    let chance: Chance
    let journal: Journal
    let faults: LinkFaults
    let server: SimulatedServer
    /// The client's number.
    let number: Int
    /// Finds the record of a request that the client sends.
    var sending: (RealtimeRequest, SimulatedLink) -> RequestRecord? = { _, _ in nil }

    let conditions: NetworkConditions
    private(set) var links: [SimulatedLink] = []
    private var linkCount = 0

    /// The network between a server and a client.
    init(
        events: EventQueue, chance: Chance, journal: Journal, faults: LinkFaults,
        server: SimulatedServer, number: Int
    ) {
        (self.events, self.chance, self.journal, self.faults) = (events, chance, journal, faults)
        (self.server, self.number) = (server, number)
        conditions = NetworkConditions(events: events, chance: chance)
        conditions.observer = { [weak self] in self?.changed($0) }
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

    /// The time until the end of a connection is noticed.
    func noticeDelay() -> Duration {
        chance.oneIn(4) ? chance.duration(.milliseconds(10)...(.seconds(60))) : conditions.latency()
    }

    // Each connection keeps its order; there is one at a time.
    func numberMessage() -> UInt64 { 0 }
    func noteArrival(_ message: UInt64) {}

    private func changed(_ change: NetworkConditions.Change) {
        switch change {
        case .disturbed(.refusing, let duration):
            journal.note("client \(number) has no network for \(duration)")
            for link in links { link.breakOff() }
        case .disturbed(_, let duration):
            journal.note(.silence, "client \(number) for \(duration)")
        case .timedOut:
            journal.note(.longSilence)
            for link in links { link.breakOff() }
        case .cleared:
            journal.note("client \(number) has a network again")
            for link in links { link.resume() }
        }
    }
}
