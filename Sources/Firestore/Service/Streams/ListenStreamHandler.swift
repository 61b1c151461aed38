import DequeModule
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
struct ListenStreamHandler: StreamHandler {
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
        _ database: DatabaseContext, _ limits: ServerConfiguration.Limits,
        _ tell: @escaping @Sendable (WatchEvent) -> Void
    ) {
        stream = database.backend.serveWatchStream(as: database.credentials, tell)
        stream.demand(Self.responsesAhead)
        coder = database.coder()
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

    mutating func answer(to event: WatchEvent) throws -> StreamResponse {
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

// MARK: - Targets

/// What a client asked of the targets of a stream, kept until the backend has told their end.
///
/// Clients use a number again without waiting for that, so that what is told of a number is of its
/// earlier target until the later one is told to be there.
struct ListenTargets {
    /// A target as it was asked for.
    private struct Target {
        /// How many queries or documents it asks for.
        let count: Int
        let mask: FieldMask?
        let isOnce: Bool
        /// Whether it has been asked to end.
        var isLeaving = false
    }

    /// Asked for, and not told to be there, the earliest first.
    private var asked: [Int32: Deque<Target>] = [:]
    /// Told to be there.
    private var told: [Int32: Target] = [:]
    /// Whether any has had a mask: most streams have none, and need not look for those.
    private(set) var hasMasks = false
    /// Those that end with the next snapshot.
    private var ending: [Int32] = []

    /// How many queries and documents are asked for.
    var count: Int {
        asked.values.joined().reduce(told.values.reduce(0, Self.add), Self.add)
    }

    private static func add(_ count: Int, _ target: Target) -> Int {
        count + (target.isLeaving ? 0 : target.count)
    }

    /// The fields that are told of a target's documents; nil for all.
    func mask(_ id: Int32) -> FieldMask? { told[id]?.mask }

    /// Takes a request.
    mutating func add(_ selection: WatchSelection) {
        switch selection.request {
        case .add(let target):
            asked[target.id, default: []].append(
                Target(
                    count: target.all.count, mask: selection.mask, isOnce: selection.isOnce))
            hasMasks = hasMasks || selection.mask != nil
        case .remove(let id):
            if let last = asked[id]?.indices.last {
                asked[id]?[last].isLeaving = true
            } else {
                told[id]?.isLeaving = true
            }
        }
    }

    /// Takes a request for a target that is refused: it takes no place, and its end is told.
    mutating func addRefused(_ id: Int32) {
        asked[id, default: []].append(Target(count: 0, mask: nil, isOnce: false))
    }

    /// Hears what the backend says of targets.
    ///
    /// - Returns: the targets that end by themselves now: all that there is has been told.
    mutating func note(_ change: TargetChange) -> [Int32] {
        switch change.kind {
        case .added:
            for id in change.targetIDs { told[id] = takeAsked(id) }
        case .removed(let error):
            for id in change.targetIDs where told.removeValue(forKey: id) == nil && error != nil {
                // It has never been there.
                _ = takeAsked(id)
            }
        case .current:
            ending += change.targetIDs.filter { told[$0]?.isOnce == true }
        case .none where change.targetIDs.isEmpty && !change.readTime.isNone:
            let ended = ending.filter { told[$0]?.isLeaving == false }
            for id in ended { told[id]?.isLeaving = true }
            ending = []
            return ended
        case .none, .reset: break
        }
        return []
    }

    private mutating func takeAsked(_ id: Int32) -> Target? {
        defer { if asked[id]?.isEmpty == true { asked[id] = nil } }
        return asked[id]?.popFirst()
    }
}
