import LarderModel

/// Random transactions on a storage and on ``StorageModel``, whose answers must be the same.
public struct StorageLaw {
    private static let users = ["", "alice", "bob"]
    private static let targets: [Int32] = [2, 4, 6]

    private let paths: [DocumentPath]
    private var random: SeededRandom
    private var model = StorageModel()

    /// A law with random numbers of its own.
    public init(_ random: SeededRandom) throws {
        self.random = random
        let collections = ["a", "b", "a/x/b", "b/__id2__/a"]
        let ids = [
            "x", "y", "__id2__", "__id10__", "é", "e\u{301}", String(repeating: "z", count: 300),
        ]
        paths = try collections.flatMap { collection in
            try ids.map { try DocumentPath("\(collection)/\($0)") }
        }
    }

    /// Tries a storage that holds nothing.
    ///
    /// - Parameters:
    ///   - storage: what to try.
    ///   - transactions: how many transactions.
    ///   - check: called after each transaction.
    /// - Returns: what went wrong first, nil for nothing.
    public mutating func violation(
        of storage: some StorageUnderTest, transactions: Int, check: () throws -> Void = {}
    ) throws -> String? {
        for number in 0..<transactions {
            let operations = (0..<(1 + random.below(12))).map { _ in operation() }
            let aborts = random.oneIn(5)
            let answers = try storage.apply(operations, aborts: aborts)
            var changed = model
            let expected = zip(operations, answers).map { changed.apply($0, batchID: $1) }
            if answers != expected {
                return "transaction \(number), \(operations): \(answers), not \(expected)"
            }
            if !aborts { model = changed }
            for question in questions() {
                let (found, expected) = (try storage.answer(question), model.answer(question))
                if found != expected {
                    return "after transaction \(number), \(question):\n\(found)\nnot\n\(expected)"
                }
            }
            try check()
        }
        return nil
    }

    private mutating func operation() -> StorageOperation {
        let (path, user) = (random.pick(paths), random.pick(Self.users))
        let version = SnapshotVersion(
            Timestamp(seconds: Int64(1 + random.below(5)), nanoseconds: 0))
        switch random.below(20) {
        case 0, 1, 2, 3, 4: return .put(path, random.map(depth: 2), version: version)
        case 5: return .putAbsent(path, version: version)
        case 6: return .putUnknown(path, version: version)
        case 7: return .remove(path)
        case 8, 9:
            let touched = Set((0...random.below(3)).map { _ in random.pick(paths) })
            return .append(user: user, touched.sorted(), payload: [UInt8(random.below(256))])
        case 10: return .removeBatch(user: user, batchID(of: user))
        case 11: return .recordAttempt(user: user, batchID(of: user), failure: random.name())
        case 12, 13, 14:
            let fields: MapValue? = random.oneIn(3) ? nil : random.map(depth: 1)
            return .putOverlay(user: user, path, fields, batch: Int64(1 + random.below(4)))
        case 15: return .removeOverlay(user: user, path)
        case 16: return .removeOverlays(user: user, batch: Int64(1 + random.below(4)))
        case 17: return .putTarget(random.pick(Self.targets), canonicalID: random.name())
        case 18:
            let id = random.pick(Self.targets)
            return random.oneIn(10) ? .removeTarget(id) : .addToTarget(id, path)
        default: return .removeFromTarget(random.pick(Self.targets), path)
        }
    }

    /// A batch of the user, or an id that there is not.
    private mutating func batchID(of user: String) -> Int64 {
        let ids = model.batches[user, default: [:]].keys.sorted()
        return ids.isEmpty || random.oneIn(5) ? 1 << 40 : random.pick(ids)
    }

    private mutating func questions() -> [StorageQuestion] {
        let (path, user) = (random.pick(paths), random.pick(Self.users))
        let viewer: String? = random.oneIn(2) ? user : nil
        let bounds = (0..<2).map { _ in random.oneIn(3) ? random.pick(paths).id : nil }
        let all: [StorageQuestion] = [
            .document(path, user: viewer),
            .collection(
                path.parent, user: viewer, isReversed: random.oneIn(2),
                allStates: random.oneIn(2), from: bounds[0], to: bounds[1]),
            .group(path.collectionGroup, user: viewer),
            .readSince(
                path.parent,
                SnapshotVersion(Timestamp(seconds: Int64(1 + random.below(5)), nanoseconds: 0))),
            .collections, .batches(user: user), .batchesTouching(path, user: user),
            .batchesTouchingDocumentsIn(path.parent, user: user), .users,
            .overlays(path.parent, user: user, since: Int64(random.below(4))), .targets,
            .targetDocuments(random.pick(Self.targets)), .targetsHolding(path),
        ]
        return all.filter { _ in random.oneIn(2) }
    }
}
