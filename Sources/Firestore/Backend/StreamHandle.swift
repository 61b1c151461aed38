import Synchronization

/// A client's hold on a stream, until it closes it.
///
/// Any thread may use it.
final class StreamHandle: Sendable {
    let id: StreamID
    private let core: BackendCore
    private let isOn = Atomic<Bool>(true)

    /// A handle of a stream that is being opened.
    init(_ core: BackendCore) {
        self.core = core
        id = core.newStreamID()
    }

    /// Whether the stream's handler may be called.
    var isOpen: Bool { isOn.load(ordering: .acquiring) }

    /// Does something at the backend, behind all that was asked for before.
    func perform(_ body: @escaping @Sendable (isolated BackendCore, StreamID) -> Void) {
        let id = id
        core.perform { body($0, id) }
    }

    /// Ends the calls of the handler; the first time the backend is told, too.
    func close(_ end: @escaping @Sendable (isolated BackendCore, StreamID) -> Void) {
        if isOn.exchange(false, ordering: .acquiringAndReleasing) { perform(end) }
    }
}
