import LarderDocumentStore
import LarderModel
import LarderTestSupport
import Testing

@Suite("Compression")
struct CompressionTests {
    private let store: Store
    private static let words = ["granite", "harbour", "lantern", "meadow", "orchard", "pebble"]

    init() throws {
        var configuration = StoreConfiguration.inMemory()
        configuration.trainsAutomatically = false
        store = try Store(configuration)
        var random = SeededRandom(seed: 3)
        try store.write { transaction throws in
            for number in 0..<1500 {
                let text = (0..<80).map { _ in random.pick(Self.words) }.joined(separator: " ")
                try transaction.put(
                    Record(["notes": .string("\(number) " + text)]),
                    at: DocumentPath("c/\(number)"), version: .at(1))
            }
        }
    }

    @Test("a trained dictionary makes records smaller, and all of them stay readable")
    func training() throws {
        let source = DocumentSource.collection(try CollectionPath("c"))
        let before = try store.read { try $0.allDocuments(in: source) }
        let size = try store.statistics().storedRecordBytes
        let result = try #require(try store.write { try $0.trainDictionary() })
        #expect(result.afterBytes < result.beforeBytes)
        #expect(result.sampleCount > 0 && result.dictionaryBytes > 0)
        #expect(try store.statistics().dictionaryID == result.dictionaryID)
        #expect(try store.read { try $0.allDocuments(in: source) } == before)
        var cursor = RepackCursor()
        var changed: Int64 = 0
        var steps = 0
        var isComplete = false
        while !isComplete, steps < 1000 {
            let progress = try store.write { try $0.repack(maxDocuments: 400, from: &cursor) }
            changed += progress.changedCount
            isComplete = progress.isComplete
            steps += 1
        }
        #expect(isComplete && steps > 1 && changed > 0)
        #expect(try store.statistics().storedRecordBytes < size)
        #expect(try store.read { try $0.allDocuments(in: source) } == before)
        let dictionaries = try store.read { try $0.dictionaries() }
        #expect(dictionaries.map(\.id) == [result.dictionaryID])
        #expect(dictionaries.allSatisfy { $0.recordCount > 0 && $0.sizeBytes > 0 })
        #expect(try store.check().isClean)
    }

    @Test("there is nothing to train from in an empty store")
    func nothingToTrainFrom() throws {
        let empty = try Store(.inMemory())
        #expect(try empty.write { try $0.trainDictionary() } == nil)
        #expect(throws: LarderError.self) {
            try empty.write { try $0.trainDictionary(dictionaryBytes: -1) }
        }
    }

    @Test("frames come back, and claim no more than they may")
    func frames() throws {
        let raw = [UInt8](repeating: 7, count: 100_000)
        try store.read { transaction in
            let frame = try transaction.compress(raw)
            #expect(frame.count < 1000)
            #expect(try transaction.decompress(frame, maxBytes: raw.count) == raw)
            let error = #expect(throws: LarderError.self) {
                try transaction.decompress(frame, maxBytes: raw.count - 1)
            }
            #expect(error?.condition == .tooLarge)
            var damaged = frame
            damaged[damaged.count / 2] ^= 1
            #expect(throws: LarderError.self) {
                try transaction.decompress(damaged, maxBytes: raw.count)
            }
            #expect(try transaction.decompress(transaction.compress([]), maxBytes: 0) == [])
        }
    }
}
