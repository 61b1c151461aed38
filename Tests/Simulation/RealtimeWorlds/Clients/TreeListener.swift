import LarderRealtimeModel
import LarderRealtimeSync
import LarderRealtimeTestSupport
import SimulationSupport

/// A listener of a client and the content that its events describe.
final class TreeListener: @unchecked Sendable {
    // One thread runs a world.

    let id: ListenerID
    let query: QuerySpec
    /// True if it receives changes of metadata alone: every other one does.
    let includesMetadataChanges: Bool
    private let name: String
    private let journal: Journal
    private var replica: ViewReplica
    private(set) var metadata: TreeEventMetadata?
    /// True once no event may be delivered.
    var isOver = false
    /// True if the server has ended the listen.
    private(set) var isCancelled = false
    /// True if events were received since the last check.
    var isTouched = false
    /// The earliest version of the server's tree that it may show.
    var lastVersion = 0

    init(_ id: ListenerID, _ query: QuerySpec, client: Int, _ journal: Journal) {
        (self.id, self.query, self.journal) = (id, query, journal)
        includesMetadataChanges = id.rawValue.isMultiple(of: 2)
        name = "client \(client) listener \(id.rawValue)"
        replica = ViewReplica(query)
    }

    /// The latest value; nil while data is incomplete and after the listen was cancelled.
    var value: Node? { metadata?.isComplete == true && !isCancelled ? replica.value : nil }

    func receive(_ event: TreeEvent) {
        journal.note("\(name): \(event.text)")
        guard !isOver, !isCancelled else {
            return journal.fail("\(name) receives \(event.text) after its end")
        }
        isTouched = true
        if case .cancelled = event.change {
            isCancelled = true
            return journal.note(.listenRevoked)
        }
        // Only a value event marks the end of an operation.
        let wasComplete = metadata?.isComplete == true
        if !wasComplete, event.metadata.isComplete || begins(event) { replica.forgetOperation() }
        metadata = event.metadata
        if event.change.type == .value, !event.metadata.isComplete {
            // Operations before the first value have no ends: what they said of the order is unknown.
            replica.forgetOperation()
        }
        report(replica.apply(event), event)
        if event.change.type == .value { report(replica.endOperation(), event) }
    }

    /// True if an event belongs to a later operation than the last event.
    private func begins(_ event: TreeEvent) -> Bool {
        guard let last = replica.lastType, let type = event.change.type else { return false }
        return type < last
    }

    private func report(_ problem: String?, _ event: TreeEvent) {
        if let problem { journal.fail("\(name) of \(query.text): \(problem) at \(event.text)") }
    }

    /// Ends the operations of a step.
    func endStep() {
        guard metadata?.isComplete == true, !isCancelled else { return }
        if let problem = replica.endOperation() {
            journal.fail("\(name) of \(query.text): \(problem)")
        }
    }

    /// True if its events describe exactly this node.
    func shows(_ node: Node) -> Bool { replica.shows(node) }
}
