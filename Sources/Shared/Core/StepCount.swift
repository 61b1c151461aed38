import Synchronization

/// Counts the steps of algorithms, for tests of what operations cost; nothing in release builds.
package final class StepCount: Sendable {
    private let total = Atomic<Int>(0)

    /// The counter of a task; nil to count nothing.
    @TaskLocal package static var current: StepCount?

    package init() {}

    package var count: Int { total.load(ordering: .relaxed) }

    /// Counts a step.
    package static func note() {
        #if DEBUG
            current?.total.wrappingAdd(1, ordering: .relaxed)
        #endif
    }
}
