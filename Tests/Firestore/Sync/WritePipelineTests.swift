import LarderModel
import Testing

@testable import LarderSync

@Suite("The write pipeline")
struct WritePipelineTests {
    private func batch(_ id: Int64, bytes: Int = 100) -> MutationBatch {
        MutationBatch(
            id: id, localWriteTime: Timestamp.now(), mutations: [], attemptCount: 0,
            lastAttempt: nil, lastError: nil, sizeBytes: bytes)
    }

    @Test("It takes as many batches as it is deep, oldest first, and none twice")
    func depth() {
        var pipeline = WritePipeline(depth: 100)
        let taken = pipeline.append((1...120).map { batch($0) })
        #expect(taken.map(\.id) == Array(1...100))
        #expect(pipeline.room == 0)
        let removed = [1, 50, 50].map { pipeline.remove($0) }
        #expect(removed == [true, true, false])
        let later = pipeline.append((100...103).map { batch($0) })
        #expect(later.map(\.id) == [101, 102])
        #expect(pipeline.batches.map(\.id) == Array(2...49) + Array(51...102))
    }

    @Test("Large batches: ten at least, more only until there are enough bytes")
    func bytes() {
        var pipeline = WritePipeline(depth: 100)
        let large = WritePipeline.maxBytes
        let first = pipeline.append((1...20).map { batch($0, bytes: large) })
        #expect(first.count == 10)
        #expect(pipeline.room == 0)
        for batch in first { _ = pipeline.remove(batch.id) }
        #expect(pipeline.room == 100)
        let later = pipeline.append((21...60).map { batch($0, bytes: large / 16) })
        #expect(later.count == 16)
    }

    @Test("A cleared pipeline accepts the oldest batches again")
    func clearing() {
        var pipeline = WritePipeline(depth: 10)
        _ = pipeline.append([batch(7, bytes: WritePipeline.maxBytes)])
        pipeline.clear()
        #expect(pipeline.cursor == 0)
        #expect(pipeline.room == 10)
        let taken = pipeline.append([batch(3)])
        #expect(taken.count == 1)
    }
}
