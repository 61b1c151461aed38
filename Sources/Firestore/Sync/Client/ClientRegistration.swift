import LarderRuntime

/// Something that a client calls until it is removed; letting go of this does not remove it.
package final class ClientRegistration: Sendable {
    private let work: ScheduledWork

    init(_ remove: @escaping @Sendable () -> Void) {
        work = ScheduledWork(remove)
    }

    /// Ends it; a second call does nothing.
    ///
    /// What is being delivered on another thread at this moment may still arrive there.
    package func remove() {
        work.perform()
    }
}
