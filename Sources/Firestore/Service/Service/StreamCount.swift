import LarderModel
import Metrics
import Synchronization

/// How many streams are open, at most as many as a limit says.
final class StreamCount: Sendable {
    private let count = Atomic<Int>(0)
    private let limit: Int
    private let gauge = Gauge(label: "larder_server_streams")

    init(limit: Int) {
        self.limit = limit
    }

    /// How many are open.
    var value: Int { count.load(ordering: .relaxed) }

    /// Counts a stream; call ``remove()`` at its end.
    ///
    /// - Throws: `resourceExhausted`, and it is not counted, where there are too many.
    func add() throws(LarderError) {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard number <= limit else {
            count.subtract(1, ordering: .relaxed)
            throw LarderError(
                .resourceExhausted, "\(limit) streams are open, which is the limit")
        }
        gauge.record(number)
    }

    /// Counts a stream no longer.
    func remove() {
        gauge.record(count.wrappingSubtract(1, ordering: .relaxed).newValue)
    }
}
