package import LarderModel

/// Where and when an engine works: the threads, clocks and chance that it sees.
///
/// Tests hand in one that runs everything on their own thread, on a clock that they turn.
package protocol Scheduler: Sendable {
    /// What an engine's state is confined to: one piece of work after the other.
    var executor: any SerialExecutor { get }

    /// Time since some moment, which never goes back.
    var uptime: Duration { get }

    /// A number from 0 up to but not 1, by chance.
    func random() -> Double

    /// Runs a closure on the executor, after what is waiting there.
    func run(_ body: @escaping @Sendable () -> Void)

    /// Runs a closure on the executor once some time has passed.
    ///
    /// - Returns: what takes it back, when called on the executor.
    func schedule(
        _ timer: EngineTimer, after delay: Duration, _ body: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void

    /// Runs a closure that only reads, beside the executor.
    func read(_ body: @escaping @Sendable () -> Void)

    /// Calls a closure on the executor after a file was written to, until the result is let go.
    func watch(
        _ path: String, _ body: @escaping @Sendable () -> Void
    ) throws(LarderError) -> AnyObject
}
