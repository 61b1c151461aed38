import LarderModel

/// The oldest batches of the queue, which are sent to the backend in order.
///
/// Responses come in the order of the batches: a response is always that of the first one.
struct WritePipeline: Sendable {
    /// The maximum number of batches under way.
    let depth: Int
    /// The number of batches that may be under way whatever their size.
    static let leastDepth = 10
    /// The size from which no further batches are appended.
    static let maxBytes = 4 << 20

    private(set) var batches: ArraySlice<MutationBatch> = []
    private var sizeBytes = 0
    /// The latest batch appended since the pipeline was cleared; 0 for none.
    private(set) var cursor: Int64 = 0

    init(depth: Int) {
        self.depth = depth
    }

    /// The number of batches that can be appended.
    var room: Int {
        (sizeBytes < Self.maxBytes ? depth : min(depth, Self.leastDepth)) - batches.count
    }

    /// Appends batches later than ``cursor``, up to ``room``.
    ///
    /// - Returns: the appended batches.
    mutating func append(_ candidates: [MutationBatch]) -> ArraySlice<MutationBatch> {
        let end = batches.endIndex
        for batch in candidates where batch.id > cursor && room > 0 {
            batches.append(batch)
            sizeBytes += batch.sizeBytes
            cursor = batch.id
        }
        return batches[end...]
    }

    func contains(_ batchID: Int64) -> Bool {
        batches.contains { $0.id == batchID }
    }

    mutating func remove(_ batchID: Int64) -> Bool {
        guard let index = batches.firstIndex(where: { $0.id == batchID }) else { return false }
        sizeBytes -= batches[index].sizeBytes
        // Nearly always it is the first.
        if index == batches.startIndex { batches.removeFirst() } else { batches.remove(at: index) }
        return true
    }

    /// Removes all batches; the queue is read from its beginning again.
    mutating func clear() {
        batches = []
        (sizeBytes, cursor) = (0, 0)
    }
}
