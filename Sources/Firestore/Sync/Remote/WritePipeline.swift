import LarderModel

/// The oldest batches of the queue, as they go to the backend one after the other.
///
/// Answers come in the order of the batches, so an answer is always of the first one.
struct WritePipeline: Sendable {
    /// So many batches are under way at most.
    let depth: Int
    /// So many may be whatever their size.
    static let leastDepth = 10
    /// From so many bytes on no others are taken.
    static let maxBytes = 4 << 20

    private(set) var batches: ArraySlice<MutationBatch> = []
    private var sizeBytes = 0
    /// The youngest batch that ever was in it, since it was cleared; 0 for none.
    private(set) var cursor: Int64 = 0

    init(depth: Int) {
        self.depth = depth
    }

    /// How many more batches it can take.
    var room: Int {
        (sizeBytes < Self.maxBytes ? depth : min(depth, Self.leastDepth)) - batches.count
    }

    /// Takes batches that are younger than all that were in it, as far as there is room.
    ///
    /// - Returns: those that it took.
    mutating func append(_ candidates: [MutationBatch]) -> ArraySlice<MutationBatch> {
        let end = batches.endIndex
        for batch in candidates where batch.id > cursor && room > 0 {
            batches.append(batch)
            sizeBytes += batch.sizeBytes
            cursor = batch.id
        }
        return batches[end...]
    }

    /// Whether a batch is in it.
    func contains(_ batchID: Int64) -> Bool {
        batches.contains { $0.id == batchID }
    }

    /// Takes out a batch.
    ///
    /// - Returns: whether it was there.
    mutating func remove(_ batchID: Int64) -> Bool {
        guard let index = batches.firstIndex(where: { $0.id == batchID }) else { return false }
        sizeBytes -= batches[index].sizeBytes
        // Nearly always it is the first.
        if index == batches.startIndex { batches.removeFirst() } else { batches.remove(at: index) }
        return true
    }

    /// Takes out all batches; the queue is read from its beginning again.
    mutating func clear() {
        batches = []
        (sizeBytes, cursor) = (0, 0)
    }
}
