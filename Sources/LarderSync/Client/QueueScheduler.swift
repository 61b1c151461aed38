import Dispatch
package import LarderModel

/// Works on a dispatch queue of its own, by the system's clock.
package final class QueueScheduler: Scheduler {
    private let serial = QueueExecutor(label: "larder.engine")
    /// Where queries of new listeners run, beside the engine's commits.
    private let readers = DispatchQueue(
        label: "larder.readers", qos: .userInitiated, attributes: .concurrent)

    /// A queue that nothing else uses.
    package init() {}

    package var executor: any SerialExecutor { serial }

    package var uptime: Duration {
        .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds))
    }

    package func random() -> Double { .random(in: 0..<1) }

    package func run(_ body: @escaping @Sendable () -> Void) {
        serial.queue.async(execute: body)
    }

    package func schedule(
        _ timer: EngineTimer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        let item = ScheduledWork(body)
        serial.queue.asyncAfter(deadline: .now() + delay.dispatchInterval, execute: item.perform)
        return item.cancel
    }

    package func read(_ body: @escaping @Sendable () -> Void) {
        readers.async(execute: body)
    }

    package func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        try FileWatch(path: path, queue: serial.queue, onChange: body)
    }
}

extension Duration {
    fileprivate var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        // A delay beyond a century is one of a century.
        let whole = min(max(seconds, 0), 3_155_760_000) * 1_000_000_000
        return .nanoseconds(Int(whole + attoseconds / 1_000_000_000))
    }
}
