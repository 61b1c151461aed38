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

    /// Counts a stream while a closure runs.
    ///
    /// - Throws: `resourceExhausted` where there are too many; else what the closure throws.
    func counting<R>(_ body: () async throws -> R) async throws -> R {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        gauge.record(number)
        defer { gauge.record(count.wrappingSubtract(1, ordering: .relaxed).newValue) }
        guard number <= limit else {
            throw LarderError(
                .resourceExhausted, "\(limit) streams are open, which is the limit")
        }
        return try await body()
    }
}
