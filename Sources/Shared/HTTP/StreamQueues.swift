import DequeModule
import LarderCore
import NIOHTTP2

/// The streams of a connection whose work waits, in order.
struct TurnQueue {
    private static let maxRunning = 32

    /// The amount of work in progress.
    var running = 0
    private var waiting: Deque<HTTP2StreamID> = []

    mutating func admits(_ id: HTTP2StreamID, unsentBytes: Int) -> Bool {
        if waiting.isEmpty, isOpen(unsentBytes) { return true }
        waiting.append(id)
        return false
    }

    /// The next stream whose work may begin.
    mutating func next(unsentBytes: Int) -> HTTP2StreamID? {
        isOpen(unsentBytes) ? waiting.popFirst() : nil
    }

    private func isOpen(_ unsentBytes: Int) -> Bool {
        unsentBytes < ResponseBacklog.maxBytes && running < Self.maxRunning
    }
}

/// The streams of a connection whose receive window is kept closed, in the order of their wishes.
struct CreditQueue {
    /// The stream that receives while memory is scarce.
    private var favored: HTTP2StreamID?
    private var waiting: Deque<HTTP2StreamID> = []

    var isEmpty: Bool { favored == nil && waiting.isEmpty }

    mutating func admits(_ id: HTTP2StreamID, isScarce: Bool) -> Bool {
        guard isScarce, favored != id else { return true }
        if favored == nil {
            favored = id
            return true
        }
        if !waiting.contains(id) { waiting.append(id) }
        return false
    }

    /// Removes a stream.
    ///
    /// - Returns: the streams that may receive now: one, or all unless memory is scarce.
    mutating func released(_ id: HTTP2StreamID, isScarce: Bool) -> [HTTP2StreamID] {
        waiting.removeAll { $0 == id }
        if favored == id { favored = nil }
        guard isScarce else {
            defer { (favored, waiting) = (nil, []) }
            return Array(waiting)
        }
        guard favored == nil, let next = waiting.popFirst() else { return [] }
        favored = next
        return [next]
    }
}
