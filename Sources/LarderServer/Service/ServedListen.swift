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
    private var targets = ListenTargets()
    /// Responses since the backend was last told that there is room.
    private var taken = 0

    static var method: MethodDescriptor { Google_Firestore_V1_Firestore.Method.Listen.descriptor }

    static func database(of message: Google_Firestore_V1_ListenRequest) -> String {
        message.database
    }

    static func decode(
        _ message: Google_Firestore_V1_ListenRequest, isFirst: Bool, _ coder: MessageCoder
    ) throws(LarderError) -> WatchSelection {
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

    mutating func send(_ selection: WatchSelection) throws(LarderError) {
        targets.add(selection)
        guard targets.count <= maxTargets else {
            throw LarderError(
                .resourceExhausted,
                "a stream has \(maxTargets) targets, or documents of targets, which is the limit")
        }
        stream.send(selection.request)
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
