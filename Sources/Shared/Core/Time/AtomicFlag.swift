import Synchronization

/// A flag that is set once; thread-safe.
package final class AtomicFlag: Sendable {
    private let value = Atomic<Bool>(false)

    package init() {}

    package var isSet: Bool { value.load(ordering: .relaxed) }

    package func set() { value.store(true, ordering: .relaxed) }
}
