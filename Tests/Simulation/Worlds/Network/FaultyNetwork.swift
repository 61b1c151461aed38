import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import SimulationSupport

/// The network between one client and the backend; a remote to the client.
///
/// Latencies are random. A stream keeps its order; streams overtake each other, and calls overtake
/// streams.
final class FaultyNetwork: RemoteWithoutDirectCalls, LineCarrier, @unchecked Sendable {
    // One thread runs a world.

    let events: EventQueue
    let chance: Chance
    let journal: Journal
    let faults: FaultPlan
    let backend: SimulatedBackend
    let audit: WriteAudit
    /// Whether the client learns that the backend keeps the names of writes.
    let keepsNames: Bool
    /// The client's number.
    let number: Int
    /// The last snapshot that the client has received.
    private(set) var lastSnapshotVersion = SnapshotVersion.none

    let conditions: NetworkConditions
    private var connections: [any Breakable] = []
    private var streamCount = 0
    private var sentCount: UInt64 = 0
    private var lastArrived: UInt64 = 0

    /// The network between a backend and a client.
    init(
        events: EventQueue, chance: Chance, journal: Journal, faults: FaultPlan,
        backend: SimulatedBackend, audit: WriteAudit, keepsNames: Bool, number: Int
    ) {
        (self.events, self.chance, self.journal, self.faults) = (events, chance, journal, faults)
        (self.backend, self.audit, self.number) = (backend, audit, number)
        self.keepsNames = keepsNames
        conditions = NetworkConditions(events: events, chance: chance)
        conditions.observer = { [weak self] in self?.changed($0) }
    }

    /// Releases the streams, which retain the network.
    func retire() {
        connections = []
    }

    private func changed(_ change: NetworkConditions.Change) {
        switch change {
        case .disturbed(.refusing, let duration):
            journal.note(.refusing, "client \(number) for \(duration)")
            breakAll(LarderError(.unavailable, "the network is down"))
        case .disturbed(_, let duration):
            journal.note(.silence, "client \(number) for \(duration)")
        case .timedOut:
            journal.note(.longSilence)
            breakAll(LarderError(.unavailable, "the connection has timed out"))
        case .cleared:
            journal.note("client \(number) has a network again")
            for connection in connections { connection.resume() }
        }
    }

    private func breakAll(_ error: LarderError) {
        for connection in connections { connection.breakOff(error) }
    }

    /// A random error that ends a stream.
    func error() -> LarderError {
        let code = chance.pick([
            (12, LarderError.Code.unavailable), (2, .internal), (2, .cancelled), (1, .unknown),
            (1, .deadlineExceeded), (1, .aborted), (1, .unauthenticated), (1, .resourceExhausted),
        ])
        if code == .unauthenticated { journal.note(.tokenRefused) }
        if code == .resourceExhausted { journal.note(.exhausted) }
        return LarderError(code, "the connection was lost")
    }

    // MARK: Messages in transit

    func newStreamNumber() -> Int {
        streamCount += 1
        return streamCount
    }

    func add(_ connection: any Breakable) {
        connections.append(connection)
        if conditions.isSilent { journal.note(.streamSilent) }
    }

    func remove(_ connection: any Breakable) {
        connections.removeAll { $0 === connection }
    }

    /// The number of a message that is sent.
    func numberMessage() -> UInt64 {
        sentCount += 1
        return sentCount
    }

    /// Notes the arrival of a message.
    func noteArrival(_ message: UInt64) {
        if message < lastArrived { journal.note(.overtaken) }
        lastArrived = max(lastArrived, message)
    }

    /// Notes that the client receives a snapshot.
    func noteSnapshot(_ version: SnapshotVersion) {
        lastSnapshotVersion = max(lastSnapshotVersion, version)
    }

    func invalidateToken() {}
}
