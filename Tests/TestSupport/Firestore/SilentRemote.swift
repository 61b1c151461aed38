package import LarderRemote

/// A backend that never answers, and tells when it is first asked to watch something.
package final class SilentRemote: UnansweringRemote {
    private let asked: @Sendable () -> Void

    /// A backend that tells a closure of each watch stream.
    package init(_ asked: @escaping @Sendable () -> Void) {
        self.asked = asked
    }

    private final class Stream: WatchStream {
        func send(_ request: WatchRequest) {}
        func demand(_ count: Int) {}
        func close() {}
    }

    package func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        asked()
        return Stream()
    }
}
