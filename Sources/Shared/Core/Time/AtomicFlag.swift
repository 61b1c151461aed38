import Synchronization

/// True if something has happened; any thread may use it.
package final class AtomicFlag: Sendable {
    private let value = Atomic<Bool>(false)

    /// It has not happened.
    package init() {}

    /// True if it has happened.
    package var isSet: Bool { value.load(ordering: .relaxed) }

    /// It has happened.
    package func set() { value.store(true, ordering: .relaxed) }
}
