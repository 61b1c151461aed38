import LarderModel
import LarderQuery
import LarderRemote
import LarderTestSupport
import Synchronization

/// A backend that says what a test makes it say, and remembers what it was asked.
///
/// It has at most one stream of each kind open, as every client has.
final class ScriptedRemote: StreamsOnlyRemote {
    /// What clients have asked of it.
    struct Asked: Sendable {
        /// What was last asked for each target that is watched: until the client ends it, the
        /// backend does for a reason, or the stream ends.
        var activeTargets: [Int32: WatchTarget] = [:]
        /// Batches on the open write stream that have no answer, oldest first.
        var sentWrites: [[Mutation]] = []
        /// Requests on watch streams.
        var watchRequestCount = 0
        /// Requests on write streams: handshakes, batches and the good-bye after a handshake.
        var writeRequestCount = 0
        /// What a client must not do.
        var violations: [String] = []
    }

    struct State {
        var asked = Asked()
        var watch: OpenWatch?
        /// The client's handler of the watch stream that it closed last.
        var closedWatch: (@Sendable (WatchEvent) -> Void)?
        var write: OpenWrite?
        var streamCount = 0
        private var tokenCount = 0

        /// The next token of a write stream.
        mutating func nextToken() -> [UInt8] {
            defer { tokenCount += 1 }
            return Array("write-stream-token-\(tokenCount)".utf8)
        }
    }

    /// The watch stream that is open.
    struct OpenWatch {
        let id: Int
        let handler: @Sendable (WatchEvent) -> Void
        /// How many responses the client lets through.
        var demand = 0
        var waiting: [WatchResponse] = []
    }

    /// The write stream that is open.
    struct OpenWrite {
        let id: Int
        let handler: @Sendable (WriteEvent) -> Void
        var isHandshakeDone = false
    }

    let state = Mutex(State())
    let trace: @Sendable (String) -> Void

    /// A backend without requests.
    ///
    /// - Parameter trace: called with a line for each thing that a client asks.
    init(trace: @escaping @Sendable (String) -> Void = { _ in }) {
        self.trace = trace
    }

    /// What clients have asked so far.
    var asked: Asked { state.withLock { $0.asked } }

    /// Whether a watch stream is open.
    var isWatchStreamOpen: Bool { state.withLock { $0.watch != nil } }

    /// Takes note of what a client must not do.
    func note(violation: String) {
        state.withLock { $0.asked.violations.append(violation) }
    }

    func openWatchStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WatchEvent) -> Void
    ) -> any WatchStream {
        trace("open watch stream as '\(credentials.userID)'")
        let id = state.withLock { state in
            if state.watch != nil { state.asked.violations.append("watch stream opened twice") }
            state.streamCount += 1
            state.watch = OpenWatch(id: state.streamCount, handler: handler)
            return state.streamCount
        }
        handler(.opened)
        return ScriptedWatchStream(self, id)
    }

    func openWriteStream(
        as credentials: Credentials, _ handler: @escaping @Sendable (WriteEvent) -> Void
    ) -> any WriteStream {
        trace("open write stream as '\(credentials.userID)'")
        let id = state.withLock { state in
            if state.write != nil { state.asked.violations.append("write stream opened twice") }
            state.streamCount += 1
            state.write = OpenWrite(id: state.streamCount, handler: handler)
            return state.streamCount
        }
        handler(.opened)
        return ScriptedWriteStream(self, id)
    }
}
