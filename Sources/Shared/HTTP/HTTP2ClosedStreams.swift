/// The streams of an HTTP/2 connection that have been closed lately, to detect frames on them.
///
/// A client that has ended or reset a stream sends nothing more on it (RFC 9113, 5.1). What it sends
/// on a stream that the server has reset may have been on its way, and is ignored.
struct HTTP2ClosedStreams {
    /// The violation that a frame is.
    enum Violation {
        /// The client itself has closed the stream.
        case closed
        /// The stream was never used, and a later one is.
        case skipped
    }

    /// The number of streams that are remembered.
    private static let limit = 1_000

    /// Whether the client has ended a remembered stream.
    private var isEnded: [Int32: Bool] = [:]
    /// Closed streams, the oldest first.
    private var closed: [Int32] = []
    private var hasForgotten = false
    private var last: Int32 = 0

    /// The client has opened a stream.
    mutating func opened(_ id: Int32) { last = max(last, id) }

    /// The client has ended or reset a stream.
    mutating func endedByClient(_ id: Int32) { remember(id, isEnded: true) }

    /// The server has closed a stream or refused it.
    mutating func closedByServer(_ id: Int32) {
        if isEnded[id] == nil { remember(id, isEnded: false) }
    }

    private mutating func remember(_ id: Int32, isEnded ended: Bool) {
        guard isEnded.updateValue(ended, forKey: id) == nil else { return }
        closed.append(id)
        guard closed.count > 2 * Self.limit else { return }
        for id in closed.prefix(Self.limit) { isEnded[id] = nil }
        closed.removeFirst(Self.limit)
        hasForgotten = true
    }

    /// The violation that headers or data are on a stream that is not open; nil if they are none, or
    /// may be none.
    func violation(on id: Int32, isHeaders: Bool) -> Violation? {
        guard id <= last, id % 2 == 1 else { return nil }
        if let isEnded = isEnded[id] { return isEnded ? .closed : nil }
        return isHeaders && !hasForgotten ? .skipped : nil
    }
}
