import LarderModel
import LarderSync
import Synchronization

/// A listener that is called until it is removed; letting go of this does not remove it.
public protocol ListenerRegistration: AnyObject, Sendable {
    /// Ends the listener; a second call does nothing.
    ///
    /// It is not called any more once this has returned, apart from a call that another thread
    /// is in the middle of; on the callback queue there is none.
    func remove()
}

/// The registration of every kind of listener, pin and observer.
final class Registration: ListenerRegistration {
    private let ended = Atomic<Bool>(false)
    private let source = Mutex<ClientRegistration?>(nil)

    /// Whether the listener is still to be called.
    var isActive: Bool { !ended.load(ordering: .acquiring) }

    /// Takes what is to be ended with the listener.
    func attach(_ registration: ClientRegistration) {
        source.withLock { $0 = registration }
        // It may have been removed, from its first call, before this.
        if !isActive { detach() }
    }

    func remove() {
        ended.store(true, ordering: .releasing)
        detach()
    }

    private func detach() {
        let registration = source.withLock { source in
            defer { source = nil }
            return source
        }
        registration?.remove()
    }
}
