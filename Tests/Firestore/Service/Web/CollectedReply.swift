import LarderCore
import LarderHTTP
import Synchronization

/// Keeps a response; fails the writes of a client that has left.
final class CollectedReply: HTTPReply {
    private struct State {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        var parts = 0
        var isWhole = false
    }

    private let state = Mutex(State())
    private let hasLeft: Bool

    init(hasLeft: Bool = false) {
        self.hasLeft = hasLeft
    }

    var status: Int? { state.withLock { $0.head?.status } }
    var text: String { String(decoding: state.withLock { $0.body }, as: UTF8.self) }
    /// The parts of the body before its end.
    var parts: Int { state.withLock { $0.parts } }
    var isWhole: Bool { state.withLock { $0.isWhole } }

    subscript(field name: String) -> String? { state.withLock { $0.head?[field: name] } }

    func begin(_ head: HTTPResponseHead, bodyBytes: Int?) {
        state.withLock { $0.head = head }
    }

    func write(_ bytes: [UInt8]) async throws(LarderError) {
        if hasLeft { throw .clientHasLeft }
        state.withLock { state in
            state.body += bytes
            state.parts += 1
        }
    }

    func end(_ bytes: [UInt8]) {
        state.withLock { state in
            state.body += bytes
            state.isWhole = true
        }
    }
}
