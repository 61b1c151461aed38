import Dispatch
package import LarderModel
import LarderRuntime

/// Works on a dispatch queue of its own, by the system's clock.
package final class QueueScheduler: Scheduler {
    private let serial: QueueExecutor
    private let deadlines: Deadlines
    /// Where queries of new listeners run, beside the engine's commits.
    private let readers = DispatchQueue(
        label: "larder.readers", qos: .userInitiated, attributes: .concurrent)

    /// A queue that nothing else uses.
    package init() {
        serial = QueueExecutor(label: "larder.engine")
        deadlines = Deadlines(serial.queue)
    }

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
        deadlines.after(delay, body).cancel
    }

    package func read(_ body: @escaping @Sendable () -> Void) {
        readers.async(execute: body)
    }

    package func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject {
        try FileWatch(
            path: path, queue: serial.queue, errorDomain: LarderError.firestoreDomain,
            onChange: body)
    }
}
