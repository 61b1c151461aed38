import DequeModule
import LarderModel
import LarderRemote
import LarderWire

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
