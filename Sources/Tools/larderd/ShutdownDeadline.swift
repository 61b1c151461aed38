import Dispatch

/// Ends the process if its shutdown takes too long.
///
/// It counts from the first signal. It depends on no task and no event loop of the server, all of
/// which may be busy or blocked by then.
final class ShutdownDeadline {
    private let queue = DispatchQueue(label: "larderd.shutdown")
    private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - signals: the signals that begin the shutdown.
    ///   - expire: called on another thread, once for each signal received that long ago.
    init(
        _ signals: [Int32], _ time: DispatchTimeInterval,
        _ expire: @escaping @Sendable () -> Void
    ) {
        sources = signals.map { [queue] number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                queue.asyncAfter(deadline: .now() + time, execute: expire)
            }
            source.activate()
            return source
        }
    }

    /// Ends the watch, unless a signal has been received.
    func cancel() {
        for source in sources { source.cancel() }
    }
}
