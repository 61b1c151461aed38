import Dispatch

/// Ends the process if its shutdown takes too long.
///
/// The time counts from the first signal, and starts over while an export makes progress. It depends
/// on no task and no event loop of the server, all of which may be busy or blocked by then.
final class ShutdownDeadline {
    private let queue = DispatchQueue(label: "larderd.shutdown")
    private let sources: [any DispatchSourceSignal]

    /// - Parameters:
    ///   - signals: the signals that begin the shutdown.
    ///   - progress: a number; if it has changed when the time is over, the time starts over.
    ///   - expire: called on another thread, once for each signal received that long ago.
    init(
        _ signals: [Int32], _ time: DispatchTimeInterval,
        progress: @escaping @Sendable () -> Int = { 0 },
        _ expire: @escaping @Sendable () -> Void
    ) {
        sources = signals.map { [queue] number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                Self.wait(time, progress, on: queue, expire)
            }
            source.activate()
            return source
        }
    }

    private static func wait(
        _ time: DispatchTimeInterval, _ progress: @escaping @Sendable () -> Int,
        on queue: DispatchQueue, _ expire: @escaping @Sendable () -> Void
    ) {
        let seen = progress()
        queue.asyncAfter(deadline: .now() + time) {
            if progress() == seen { expire() } else { wait(time, progress, on: queue, expire) }
        }
    }

    /// Ends the watch, unless a signal has been received.
    func cancel() {
        for source in sources { source.cancel() }
    }
}
