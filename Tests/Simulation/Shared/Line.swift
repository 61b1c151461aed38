import DequeModule

/// The network that a line belongs to.
package protocol LineCarrier: AnyObject {
    var events: EventQueue { get }
    /// True while nothing arrives.
    var isSilent: Bool { get }
    /// How long a message takes.
    func latency() -> Duration
    /// Numbers a message that leaves.
    func numberMessage() -> UInt64
    /// Notes the arrival of a message.
    func noteArrival(_ message: UInt64)
}

/// One direction of a stream: what is on its way arrives in order, each thing after a while.
package final class Line<Message> {
    private let network: any LineCarrier
    private let receive: (Message) -> Void
    private var messages = Deque<(number: UInt64, message: Message)>()
    private var lastArrival = Duration.zero
    /// Messages whose time came while nothing could arrive.
    private var heldCount = 0
    private var isCut = false

    /// A line on which nothing is.
    package init(_ network: any LineCarrier, _ receive: @escaping (Message) -> Void) {
        self.network = network
        self.receive = receive
    }

    /// Whether nothing is on its way.
    package var isEmpty: Bool { messages.isEmpty }

    /// Sends a message behind those that are on their way.
    package func send(_ message: Message) {
        guard !isCut else { return }
        messages.append((network.numberMessage(), message))
        lastArrival = max(lastArrival, network.events.now + network.latency())
        network.events.schedule(at: lastArrival) { self.arrive() }
    }

    private func arrive() {
        guard !isCut else { return }
        if network.isSilent {
            heldCount += 1
        } else if let (number, message) = messages.popFirst() {
            network.noteArrival(number)
            receive(message)
        }
    }

    /// Goes on after nothing could arrive.
    package func resume() {
        for _ in 0..<heldCount { network.events.schedule(after: .zero) { self.arrive() } }
        heldCount = 0
    }

    /// Loses everything that is on its way.
    package func cut() {
        isCut = true
        messages = []
    }
}
