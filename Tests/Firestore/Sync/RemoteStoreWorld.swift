import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Testing

@testable import LarderSync

/// A ``RemoteStore`` between an owner and a backend that are as plain as can be.
///
/// Whatever it asks for is looked at whether it may be asked for then.
struct RemoteStoreWorld {
    var store = RemoteStore(databaseID: DatabaseID(project: "p"), jitter: { 0.3 })
    var random: SeededRandom

    // What the owner has.
    var timers: Set<EngineTimer> = []
    var listened: Set<Int32> = []
    /// The last token of each target.
    var tokens: [Int32: [UInt8]] = [:]
    /// Batches that wait, the oldest first.
    var queue: [MutationBatch] = []
    var lastBatchID: Int64 = 0
    /// Batches that the owner gave up on.
    var givenUp: Set<Int64> = []
    /// What became of batches.
    var outcomes: [Int64: Outcome] = [:]
    var lastSnapshot = SnapshotVersion.none
    var online = NetworkState(.unknown, .notAsked)

    // What the backend has.
    var watch: Watch?
    var write: Write?
    /// What streams say that were closed meanwhile.
    var late: [Late] = []
    var lastWatch = 0
    var lastWrite = 0
    var time: Int64 = 1

    enum Outcome {
        case acknowledged
        case rejected
        case cancelled
    }

    enum Late {
        case watch(WatchEvent, Int)
        case write(WriteEvent, Int)
    }

    /// A watch stream as the backend has it.
    struct Watch {
        let generation: Int
        var isOpen = false
        var targets: Set<Int32> = []
        var events: [WatchEvent] = [.opened]
    }

    /// A write stream as the backend has it.
    struct Write {
        let generation: Int
        var isOpen = false
        var isGreeted = false
        var hasLeft = false
        var token: [UInt8] = []
        /// Batches without an answer.
        var batches: [Int64] = []
        var lastSent: Int64 = 0
        var events: [WriteEvent] = [.opened]
    }

    static let errors: [LarderError.Code] = [
        .unavailable, .internal, .permissionDenied, .invalidArgument, .resourceExhausted,
        .unauthenticated, .aborted, .notFound,
    ]

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    // MARK: What happens

    /// Something happens.
    mutating func step() throws {
        store.now += .milliseconds(random.below(3_000))
        switch random.below(24) {
        case 0, 1: listen()
        case 2: unlisten()
        case 3, 4, 5: try enqueue()
        case 6: try cancel()
        case 10 where random.oneIn(4): giveUp()
        case 7 where random.oneIn(4): store.disableNetwork(reason: randomCause())
        case 8: store.enableNetwork(reason: randomCause())
        case 9 where random.oneIn(4): store.restart()
        case 10: try deliverLate()
        case 11, 12, 13: fire(random.pick(EngineTimer.allCases))
        case 14, 15, 16: tellWatch()
        case 17, 18, 19: deliverWatch()
        default: deliverWrite(isPeaceful: false)
        }
        try carryOut()
    }

    /// Nothing goes wrong any more, until nothing is left to be done.
    mutating func calmDown() throws {
        store.enableNetwork(reason: [.user, .storeFailure, .notPrimary])
        try carryOut()
        for _ in 0..<10_000 {
            let waits = timers.intersection([.watchStreamBackoff, .writeStreamBackoff])
            if let timer = waits.first {
                store.now += .seconds(90)
                fire(timer)
            } else if watch?.events.isEmpty == false {
                deliverWatch()
            } else if write.map({ !$0.events.isEmpty || !$0.batches.isEmpty }) == true {
                deliverWrite(isPeaceful: true)
            } else {
                return
            }
            try carryOut()
        }
        Issue.record("it does not come to rest")
    }

    private mutating func randomCause() -> OfflineCauses {
        random.pick([.user, .storeFailure, .notPrimary, [.user, .notPrimary]])
    }

    private mutating func listen() {
        let id = Int32(2 * random.below(6) + 2)
        listened.insert(id)
        store.listen(.test(id, token: tokens[id] ?? [])) { _ in [] }
    }

    private mutating func unlisten() {
        let id = Int32(2 * random.below(6) + 2)
        listened.remove(id)
        store.unlisten(id)
    }

    private mutating func enqueue() throws {
        for _ in 0...random.below(6) {
            // Other users' batches have the ids between.
            lastBatchID += Int64(1 + random.below(3))
            queue.append(try .test(lastBatchID, mutations: 1 + random.below(3)))
        }
        store.fillWritePipeline()
    }

    private mutating func cancel() throws {
        guard !queue.isEmpty else { return }
        let id = random.pick(queue).id
        let isAwaited = write?.batches.contains(id) == true
        let isForgotten = store.forget(batchID: id)
        try #require(isForgotten == !isAwaited)
        if isForgotten { try settle(id, .cancelled) }
    }

    private mutating func giveUp() {
        guard store.pipelineCount > 0 else { return }
        let id = random.pick(store.pipeline.batches).id
        givenUp.insert(id)
        store.reject(batchID: id, LarderError(.internal, "given up"))
    }

    private mutating func fire(_ timer: EngineTimer) {
        guard timers.remove(timer) != nil else { return }
        store.fire(timer)
    }

    /// A batch is no longer pending.
    mutating func settle(_ id: Int64, _ outcome: Outcome) throws {
        try #require(outcomes[id] == nil)
        outcomes[id] = outcome
        queue.removeAll { $0.id == id }
    }
}
