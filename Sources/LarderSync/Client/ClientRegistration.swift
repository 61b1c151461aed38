import Synchronization

/// Something that a client calls until it is removed; letting go of this does not remove it.
package final class ClientRegistration: Sendable {
    private let action: Mutex<(@Sendable () -> Void)?>

    init(_ remove: @escaping @Sendable () -> Void) {
        action = Mutex(remove)
    }

    /// Ends it; a second call does nothing.
    ///
    /// What is being delivered on another thread at this moment may still arrive there.
    package func remove() {
        let action = action.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}
