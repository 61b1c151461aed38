import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync
import LarderTestSupport
import OrderedCollections
import Testing

@Suite("The watch aggregator against a plain model")
struct WatchAggregatorRandomTests {
    @Test("Makes the model's events from any responses of a stream, in any order")
    func agrees() throws {
        var random = SeededRandom()
        var seen = Seen()
        for _ in 0..<80 {
            var run = Run(random: random)
            for _ in 0..<400 {
                try run.step(&seen)
                guard run.agrees else { break }
            }
            #expect(run.agrees, "\(random)")
            guard run.agrees else { return }
            random = run.random
        }
        // Else the runs would agree about little.
        #expect(seen.added > 500 && seen.modified > 100 && seen.removed > 500, "\(seen) \(random)")
        #expect(seen.limbo > 100 && seen.mismatches > 100 && seen.kept > 50, "\(seen) \(random)")
    }

    /// How often things happened.
    struct Seen {
        var added = 0
        var modified = 0
        var removed = 0
        var limbo = 0
        var mismatches = 0
        /// Filters that helped.
        var kept = 0
    }

    /// One stream.
    struct Run {
        var random: SeededRandom
        var agrees = true
        private let databaseID = DatabaseID(project: "p")
        private var world = WatchWorld()
        private var aggregator: WatchAggregator
        private var model: WatchModel
        private var version: Int64 = 1
        private var unanswered: [(Int32, TargetChange.Kind)] = []

        /// Targets 1, 3 and 5 resolve limbo, 2 and 4 are documents, the others collections.
        private static let ids: [Int32] = [1, 2, 3, 4, 5, 6, 8, 10]

        init(random: SeededRandom) {
            self.random = random
            aggregator = WatchAggregator(databaseID: databaseID)
            model = WatchModel(databaseID: databaseID)
        }

        mutating func step(_ seen: inout Seen) throws {
            version += 1
            let id = random.pick(Self.ids)
            switch random.below(24) {
            case 0...2: try toggle(id)
            case 3...6: answer()
            case 7...9: try changeTargets()
            case 10...16: try changeDocument()
            case 17: respond(.removed(try path(), removedTargetIDs: ids()))
            case 18...20: try filter(id, &seen)
            case 21 where random.oneIn(10):
                world.targets[id] = nil
                aggregator.remove(id)
                model.remove(id)
            default: makeEvent(&seen)
            }
        }

        /// Watches a target, or watches it no longer; mostly asks the backend, and mostly of
        /// something that it does not know.
        private mutating func toggle(_ id: Int32) throws {
            if world.targets[id] != nil, random.oneIn(3) {
                world.targets[id] = nil
            } else if world.targets[id] == nil {
                let isDocument = id < 6
                let known = (0..<5).filter { _ in random.oneIn(2) }.map { "c/\($0)" }
                try world.watch(
                    id, isDocument ? "c/\(id % 3)" : "c",
                    for: id % 2 == 1 ? .limboResolution : .listen,
                    knowing: random.oneIn(2) ? [] : isDocument ? ["c/\(id % 3)"] : known)
            } else {
                return
            }
            aggregator.recordPendingRequest(id)
            model.recordPendingRequest(id)
            unanswered.append((id, world.targets[id] == nil ? .removed(nil) : .added))
        }

        /// Answers the oldest request, or one that was never made.
        private mutating func answer() {
            var (id, kind) = (
                random.pick(Self.ids), random.pick([TargetChange.Kind.added, .removed(nil)])
            )
            if !random.oneIn(20) {
                guard !unanswered.isEmpty else { return }
                (id, kind) = unanswered.removeFirst()
            }
            respond(.targets(TargetChange(kind, targetIDs: [id], resumeToken: token())))
        }

        private mutating func changeTargets() throws {
            let kind = random.pick([TargetChange.Kind.none, .current, .current, .reset])
            respond(.targets(TargetChange(kind, targetIDs: ids(), resumeToken: token())))
        }

        private mutating func changeDocument() throws {
            let text = try path().string
            let reading =
                random.oneIn(4)
                ? try DocumentReading.absent(text, version)
                : try DocumentReading.found(text, version)
            let removed = random.oneIn(3) ? ids() : []
            respond(.document(reading, targetIDs: ids(), removedTargetIDs: removed))
        }

        private mutating func filter(_ id: Int32, _ seen: inout Seen) throws {
            let kept = world.remoteKeys(of: id).filter { _ in random.oneIn(2) }
            var bits: BloomFilterBits?
            if !random.oneIn(3) {
                let names = kept.map { "\(databaseID)/documents/\($0)" }
                bits = BloomFilter(keys: names, falsePositiveRate: 0.1).bits
                if random.oneIn(8) { bits?.padding = 9 }
            }
            let count = random.oneIn(4) ? random.below(6) : kept.count
            let copy = model
            respond(.existenceFilter(targetID: id, count: count, unchanged: bits))
            var (with, without) = (model, copy)
            let event = with.makeEvent(at: .test(version), world)
            let before = without.makeEvent(at: .test(version), world)
            if event.mismatches.isEmpty, event.targets != before.targets { seen.kept += 1 }
        }

        private mutating func respond(_ response: WatchResponse) {
            aggregator.handle(response, knowing: world)
            model.handle(response, world)
        }

        private mutating func makeEvent(_ seen: inout Seen) {
            let event = aggregator.makeEvent(at: .test(version), knowing: world)
            let expected = model.makeEvent(at: .test(version), world)
            agrees =
                event.version == expected.version && event.targets == expected.targets
                && event.mismatches == expected.mismatches
                && Dictionary(event) == Dictionary(expected)
                && event.resolvedLimboDocuments == expected.resolvedLimboDocuments
            for change in event.targets.values {
                seen.added += change.added.count
                seen.modified += change.modified.count
                seen.removed += change.removed.count
            }
            seen.limbo += event.resolvedLimboDocuments.count
            seen.mismatches += event.mismatches.count
            world.apply(event)
        }

        /// Some targets, some of them twice, and an unknown one.
        private mutating func ids() -> [Int32] {
            (0..<random.below(4)).map { _ in
                random.oneIn(10) ? 99 : random.pick(Self.ids)
            }
        }

        private mutating func path() throws -> DocumentPath {
            try DocumentPath("c/\(random.below(5))")
        }

        private mutating func token() -> [UInt8] {
            random.oneIn(2) ? [] : [UInt8(truncatingIfNeeded: random.next())]
        }
    }
}

extension Dictionary<DocumentPath, DocumentReading> {
    /// The documents of an event, whatever their order.
    fileprivate init(_ event: RemoteEvent) {
        self.init(uniqueKeysWithValues: event.documents.map { ($0.key, $0.value) })
    }
}
