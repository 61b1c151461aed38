import DequeModule
import GRPCCore
import LarderBackend
import LarderCore
import LarderHTTP
import LarderModel
import LarderRemote
import LarderWire

/// A Listen stream.
///
/// A slow client receives fewer snapshots with combined changes: see
/// ``LarderRemote/WatchStream/demand(_:)``.
///
/// A refused target is reported as added and then removed with the cause; the stream and its other
/// targets continue. A violation of the protocol ends the stream: a malformed message, another
/// database, a missing target ID.
struct ListenStreamHandler: StreamHandler {
    enum Request: Sendable {
        /// A target to add or remove, and the size of the encoded request.
        case selection(WatchSelection, size: Int)
        /// A refused target, and the reason.
        case refusal(targetID: Int32, LarderError)
    }

    /// The number of responses that the backend may be ahead of the client.
    private static let responsesAhead = 64
    /// The bytes of responses that the backend may be ahead.
    private static let bytesAhead = 256 << 10

    private let stream: WatchConnection
    private let coder: MessageCoder
    private let maxTargets: Int
    private var targets = ListenTargets()
    /// Responses received by the client since the last demand, and their bytes.
    private var taken = 0
    private var takenBytes = 0
    /// The bytes of responses that the client has not received yet.
    private var aheadBytes = 0
    private let memory: MemoryAccount
    /// The bytes of targets that are charged.
    private var chargedBytes = 0

    static var method: MethodDescriptor { Google_Firestore_V1_Firestore.Method.Listen.descriptor }

    static func database(of message: Google_Firestore_V1_ListenRequest) -> String {
        message.database
    }

    static func decode(
        _ message: Google_Firestore_V1_ListenRequest, size: Int, isFirst: Bool,
        _ coder: MessageCoder
    ) throws(LarderError) -> Request {
        try coder.check(database: message.database)
        do throws(LarderError) {
            return .selection(try coder.decode(message), size: size)
        } catch {
            guard case .addTarget(let target)? = message.targetChange, target.targetID > 0 else {
                throw error
            }
            return .refusal(targetID: target.targetID, error)
        }
    }

    init(
        _ database: DatabaseContext, _ limits: ServerConfiguration.Limits, _ memory: MemoryAccount,
        _ tell: @escaping @Sendable (WatchEvent) -> Void
    ) {
        stream = database.backend.serveWatchStream(
            as: database.credentials, WatchFlow(bytesAhead: Self.bytesAhead, memory: memory), tell)
        self.memory = memory
        stream.demand(Self.responsesAhead)
        coder = database.coder()
        maxTargets = limits.targetsPerStream
    }

    var unansweredCount: Int { 0 }
    var isFull: Bool { false }

    mutating func send(_ request: Request) {
        switch request {
        case .selection(let selection, let size):
            if case .add(let target) = selection.request,
                targets.count + target.all.count > maxTargets
            {
                return refuse(
                    target.id,
                    LarderError(
                        .resourceExhausted,
                        "the stream has reached its limit of \(maxTargets) targets, counting each document"
                    ))
            }
            targets.add(selection, bytes: RequestMemory.servedBytes(size))
            settleMemory()
            stream.send(selection.request)
        case .refusal(let targetID, let error): refuse(targetID, error)
        }
    }

    /// Charges the account for the targets.
    private mutating func settleMemory() {
        memory.change(by: targets.heldBytes - chargedBytes)
        chargedBytes = targets.heldBytes
    }

    private mutating func refuse(_ targetID: Int32, _ error: LarderError) {
        targets.addRefused(targetID)
        stream.refuse(targetID: targetID, error)
    }

    mutating func answer(to event: WatchEvent) throws -> StreamResponse {
        switch event {
        case .opened: return .nothing
        case .response(let response):
            // From here on it counts as a response of the call.
            memory.change(by: -response.sizeBytes)
            aheadBytes += response.sizeBytes
            if case .targets(let change) = response {
                for id in targets.note(change) { stream.send(.remove(targetID: id)) }
                settleMemory()
            }
            return .responses(
                try parts(of: response).map { part in
                    try coder.encode(part.response, mask: part.mask).serializedBytes()
                })
        case .closed(let error): return .end(error)
        }
    }

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
        takenBytes += aheadBytes
        aheadBytes = 0
        guard taken >= Self.responsesAhead / 2 || takenBytes >= Self.bytesAhead / 2 else { return }
        stream.demand(taken, bytes: takenBytes)
        (taken, takenBytes) = (0, 0)
    }

    func close() {
        stream.close()
    }
}

// MARK: - Targets

/// The targets of a stream, kept until the backend has reported their end.
///
/// Clients reuse an ID without waiting for that: reports concern its earlier target until the later
/// one is reported as added.
struct ListenTargets {
    private struct Target {
        /// The number of queries or documents.
        let count: Int
        /// The size of the decoded request.
        var bytes = 0
        let mask: FieldMask?
        let isOnce: Bool
        /// Whether its removal is requested.
        var isLeaving = false
    }

    /// Targets not reported as added yet, earliest first.
    private var requested: [Int32: Deque<Target>] = [:]
    /// Targets reported as added.
    private var active: [Int32: Target] = [:]
    /// Whether any target has had a mask; most streams have none.
    private(set) var hasMasks = false
    /// The bytes of all targets.
    private(set) var heldBytes = 0
    /// Targets that end with the next snapshot.
    private var ending: [Int32] = []

    /// The number of queries and documents of all targets.
    var count: Int {
        requested.values.joined().reduce(active.values.reduce(0, Self.add), Self.add)
    }

    private static func add(_ count: Int, _ target: Target) -> Int {
        count + (target.isLeaving ? 0 : target.count)
    }

    func mask(_ id: Int32) -> FieldMask? { active[id]?.mask }

    /// - Parameter bytes: the size of the decoded request.
    mutating func add(_ selection: WatchSelection, bytes: Int) {
        switch selection.request {
        case .add(let target):
            heldBytes += bytes
            requested[target.id, default: []].append(
                Target(
                    count: target.all.count, bytes: bytes, mask: selection.mask,
                    isOnce: selection.isOnce))
            hasMasks = hasMasks || selection.mask != nil
        case .remove(let id):
            if let last = requested[id]?.indices.last {
                requested[id]?[last].isLeaving = true
            } else {
                active[id]?.isLeaving = true
            }
        }
    }

    /// Adds a rejected target, which does not count towards the limit.
    mutating func addRefused(_ id: Int32) {
        requested[id, default: []].append(Target(count: 0, mask: nil, isOnce: false))
    }

    /// Applies the backend's report on targets.
    ///
    /// - Returns: the `once` targets that are complete now.
    mutating func note(_ change: TargetChange) -> [Int32] {
        switch change.kind {
        case .added:
            for id in change.targetIDs {
                release(active[id])
                active[id] = takeRequested(id)
            }
        case .removed(let error):
            for id in change.targetIDs {
                if let target = active.removeValue(forKey: id) {
                    release(target)
                } else if error != nil {
                    // It was never added.
                    release(takeRequested(id))
                }
            }
        case .current:
            ending += change.targetIDs.filter { active[$0]?.isOnce == true }
        case .none where change.targetIDs.isEmpty && !change.readTime.isNone:
            let ended = ending.filter { active[$0]?.isLeaving == false }
            for id in ended { active[id]?.isLeaving = true }
            ending = []
            return ended
        case .none, .reset: break
        }
        return []
    }

    private mutating func release(_ target: Target?) {
        heldBytes -= target?.bytes ?? 0
    }

    private mutating func takeRequested(_ id: Int32) -> Target? {
        defer { if requested[id]?.isEmpty == true { requested[id] = nil } }
        return requested[id]?.popFirst()
    }
}
