import LarderModel
package import LarderRemote
import Synchronization

/// A backend whose watch streams say what a test says, and nothing else.
package final class SpokenRemote: UnansweringRemote {
    /// What was asked for on watch streams, in order.
    package let requests = Awaited<[WatchRequest]>([])
    private let handler = Mutex<(@Sendable (WatchEvent) -> Void)?>(nil)

    /// A backend that has not been asked anything.
    package init() {}

    /// The targets that were asked for, in order.
    package var askedTargets: [Int32] {
        requests.value.compactMap { request in
            if case .add(let target) = request { target.id } else { nil }
        }
    }

    /// Says that targets are watched from now on.
    package func watch(_ ids: [Int32]) {
        say(TargetChange(.added, targetIDs: ids))
    }

    /// Says that all documents of targets were told.
    package func finish(_ ids: [Int32]) {
        say(TargetChange(.current, targetIDs: ids, resumeToken: [1]))
    }

    /// Says that all targets are as of a moment, in seconds.
    package func snapshot(at seconds: Int64) {
        let time = SnapshotVersion(Timestamp(seconds: seconds, nanoseconds: 0))
        say(TargetChange(.none, resumeToken: [2], readTime: time))
    }

    /// Breaks the newest watch stream.
    package func breakStream() {
        say(.closed(LarderError(.unavailable, "it broke")))
    }

    private func say(_ change: TargetChange) {
        say(.response(.targets(change)))
    }

    private func say(_ event: WatchEvent) {
        handler.withLock { $0 }?(event)
    }

    private final class Stream: WatchStream {
        let remote: SpokenRemote

        init(_ remote: SpokenRemote) { self.remote = remote }

        func send(_ request: WatchRequest) {
            remote.requests.change { $0.append(request) }
        }

        func demand(_ count: Int) {}
        func close() {}
    }

    package func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        self.handler.withLock { $0 = handler }
        handler(.opened)
        return Stream(self)
    }
}
