import GRPCCore
import LarderBackend
import LarderModel
import LarderProtocol
import LarderTransport

/// A stream that tells of changes.
///
/// A client that takes its responses slowly is told less often, not less: see
/// ``LarderTransport/WatchStream/demand(_:)``.
struct ServedListen: ServedStream {
    /// How many responses the backend may make ready before the client has taken any.
    private static let responsesAhead = 64

    private let stream: any WatchStream
    private let coder: MessageCoder
    private let maxTargets: Int
    /// The targets, each with how much it asks.
    private var targets: [Int32: Int] = [:]
    /// Responses since the backend was last told that there is room.
    private var taken = 0

    static var method: MethodDescriptor { Google_Firestore_V1_Firestore.Method.Listen.descriptor }

    static func database(of message: Google_Firestore_V1_ListenRequest) -> String {
        message.database
    }

    static func decode(
        _ message: Google_Firestore_V1_ListenRequest, isFirst: Bool, _ coder: MessageCoder
    ) throws(LarderError) -> WatchRequest {
        try coder.decode(message)
    }

    init(
        _ session: Session, _ limits: ServerConfiguration.Limits,
        _ tell: @escaping @Sendable (WatchEvent) -> Void
    ) {
        stream = session.backend.openWatchStream(as: session.credentials, tell)
        stream.demand(Self.responsesAhead)
        coder = session.coder()
        maxTargets = limits.targetsPerStream
    }

    // Targets are answered whenever there is something to tell.
    var unansweredCount: Int { 0 }
    var isFull: Bool { false }

    mutating func send(_ request: WatchRequest) throws(LarderError) {
        switch request {
        case .add(let target): targets[target.id] = target.all.count
        case .remove(let id): targets[id] = nil
        }
        guard targets.values.reduce(0, +) <= maxTargets else {
            throw LarderError(
                .resourceExhausted,
                "a stream has \(maxTargets) targets, or documents of targets, which is the limit")
        }
        stream.send(request)
    }

    mutating func answer(to event: WatchEvent) throws -> StreamAnswer {
        switch event {
        case .opened: .nothing
        case .response(let response): .response(try coder.encode(response).serializedBytes())
        case .closed(let error): .end(error)
        }
    }

    mutating func noteTaken(_ count: Int) {
        taken += count
        guard taken >= Self.responsesAhead / 2 else { return }
        stream.demand(taken)
        taken = 0
    }

    func close() {
        stream.close()
    }
}
