import DequeModule

/// The network of a line.
package protocol LineCarrier: AnyObject {
    var events: EventQueue { get }
    var conditions: NetworkConditions { get }
    /// Assigns a number to a message that is sent.
    func numberMessage() -> UInt64
    /// Notes the arrival of a message.
    func noteArrival(_ message: UInt64)
}

/// One direction of a stream: messages arrive in order, each after a delay.
package final class Line<Message> {
    private let network: any LineCarrier
    private let receive: (Message) -> Void
    private var messages = Deque<(number: UInt64, message: Message)>()
    private var lastArrival = Duration.zero
    /// The count of messages that were due while the network was silent.
    private var heldCount = 0
    private var isCut = false

    /// An empty line.
    package init(_ network: any LineCarrier, _ receive: @escaping (Message) -> Void) {
        self.network = network
        self.receive = receive
    }

    /// True if no message is in transit.
    package var isEmpty: Bool { messages.isEmpty }

    /// Sends a message after those in transit.
    package func send(_ message: Message) {
        guard !isCut else { return }
        messages.append((network.numberMessage(), message))
        lastArrival = max(lastArrival, network.events.now + network.conditions.latency())
        network.events.schedule(at: lastArrival) { self.arrive() }
    }

    private func arrive() {
        guard !isCut else { return }
        if network.conditions.isSilent {
            heldCount += 1
        } else if let (number, message) = messages.popFirst() {
            network.noteArrival(number)
            receive(message)
        }
    }

    /// Delivers messages that were due while the network was silent.
    package func resume() {
        for _ in 0..<heldCount { network.events.schedule(after: .zero) { self.arrive() } }
        heldCount = 0
    }

    /// Drops all messages in transit.
    package func cut() {
        isCut = true
        messages = []
    }
}
