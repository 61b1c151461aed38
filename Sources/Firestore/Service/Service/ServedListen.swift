import GRPCCore
import LarderBackend
import LarderModel
import LarderRemote
import LarderWire

/// A stream that tells of changes.
///
/// A client that takes its responses slowly is told less often, not less: see
/// ``LarderRemote/WatchStream/demand(_:)``.
///
/// A target that is refused, for whatever its query or documents are, is answered as added and then
/// removed with the cause; the stream and its other targets go on. What breaks the protocol itself
/// ends the stream: a message that cannot be read, another database, no target number.
struct ServedListen: ServedStream {
    /// A request as the backend takes it.
    enum Request: Sendable {
        /// A target to be watched, or no longer.
        case selection(WatchSelection)
        /// A target that cannot be asked for, and why.
        case refusal(targetID: Int32, LarderError)
    }

    /// How many responses the backend may make ready before the client has taken any.
    private static let responsesAhead = 64

    private let stream: WatchConnection
    private let coder: MessageCoder
    private let maxTargets: Int
    private var targets = ListenTargets()
    /// Responses since the backend was last told that there is room.
    private var taken = 0

    static var method: MethodDescriptor { Google_Firestore_V1_Firestore.Method.Listen.descriptor }

    static func database(of message: Google_Firestore_V1_ListenRequest) -> String {
        message.database
    }

    static func decode(
        _ message: Google_Firestore_V1_ListenRequest, isFirst: Bool, _ coder: MessageCoder
    ) throws(LarderError) -> Request {
        try coder.check(database: message.database)
        do throws(LarderError) {
            return .selection(try coder.decode(message))
        } catch {
            guard case .addTarget(let target)? = message.targetChange, target.targetID > 0 else {
                throw error
            }
            return .refusal(targetID: target.targetID, error)
        }
    }

    init(
        _ session: Session, _ limits: ServerConfiguration.Limits,
        _ tell: @escaping @Sendable (WatchEvent) -> Void
    ) {
        stream = session.backend.serveWatchStream(as: session.credentials, tell)
        stream.demand(Self.responsesAhead)
        coder = session.coder()
        maxTargets = limits.targetsPerStream
    }

    // Targets are answered whenever there is something to tell.
    var unansweredCount: Int { 0 }
    var isFull: Bool { false }

    mutating func send(_ request: Request) {
        switch request {
        case .selection(let selection):
            if case .add(let target) = selection.request,
                targets.count + target.all.count > maxTargets
            {
                return refuse(
                    target.id,
                    LarderError(
                        .resourceExhausted,
                        "a stream has at most \(maxTargets) targets, or documents of targets"))
            }
            targets.add(selection)
            stream.send(selection.request)
        case .refusal(let targetID, let error): refuse(targetID, error)
        }
    }

    private mutating func refuse(_ targetID: Int32, _ error: LarderError) {
        targets.addRefused(targetID)
        stream.refuse(targetID: targetID, error)
    }

    mutating func answer(to event: WatchEvent) throws -> StreamAnswer {
        switch event {
        case .opened: return .nothing
        case .response(let response):
            if case .targets(let change) = response {
                for id in targets.note(change) { stream.send(.remove(targetID: id)) }
            }
            return .responses(
                try parts(of: response).map { part in
                    try coder.encode(part.response, mask: part.mask).serializedBytes()
                })
        case .closed(let error): return .end(error)
        }
    }

    /// A response as its targets are to be told it: a document once for each set of fields.
    private func parts(
        of response: WatchResponse
    ) -> [(response: WatchResponse, mask: FieldMask?)] {
        guard targets.hasMasks,
            case .document(let reading, let joined, let left) = response, reading.exists
        else { return [(response, nil)] }
        var masks: [FieldMask?] = []
        for id in joined + left {
            let mask = targets.mask(id)
            if !masks.contains(mask) { masks.append(mask) }
        }
        guard masks.count > 1 else { return [(response, masks.first ?? nil)] }
        return masks.map { mask in
            let part = WatchResponse.document(
                reading, targetIDs: joined.filter { targets.mask($0) == mask },
                removedTargetIDs: left.filter { targets.mask($0) == mask })
            return (part, mask)
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
