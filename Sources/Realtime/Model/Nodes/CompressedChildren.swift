import LarderCore
import Synchronization

/// Consecutive children with their subtrees, compressed.
///
/// They are made again when they are asked for, and then kept for a while: see ``ExpandedChildren``.
final class CompressedChildren: Sendable {
    let count: Int
    let summary: ChildrenSummary
    private let frames: CompressedFrames
    private let frame: [UInt8]
    private let frameContentBytes: Int
    private let state = Mutex(State())

    private struct State {
        var children: [Child]?
        /// True if the children were used since ``forget(evenIfUsed:)`` was last called.
        var isUsed = false
        /// The digests of the children that were known when the children were forgotten.
        var digests: [SHA1.Digest?] = []
    }

    /// Children of a frame that ``ChildrenCompressor`` has made.
    init(
        count: Int, summary: ChildrenSummary, frames: CompressedFrames, frame: [UInt8],
        frameContentBytes: Int
    ) {
        (self.count, self.summary) = (count, summary)
        (self.frames, self.frame) = (frames, frame)
        self.frameContentBytes = frameContentBytes
    }

    /// The children.
    var children: [Child] {
        let (known, digests) = state.withLock { state in
            state.isUsed = true
            return (state.children, state.digests)
        }
        if let known { return known }
        let made = frames.decompress(frame, count: frameContentBytes) { bytes in
            var reader = ChildrenReader(bytes)
            return reader.readChildren(digests: digests)
        }
        // Another thread may have made them meanwhile: all share those of the first.
        let (children, isFirst) = state.withLock { state in
            if let children = state.children { return (children, false) }
            state.children = made
            return (made, true)
        }
        if isFirst { ExpandedChildren.note(self) }
        return children
    }

    /// Forgets the children, except for their digests.
    ///
    /// - Parameter evenIfUsed: false to keep those that were used since the last call.
    /// - Returns: false if they are kept.
    fileprivate func forget(evenIfUsed: Bool) -> Bool {
        state.withLock { state in
            if state.isUsed, !evenIfUsed {
                state.isUsed = false
                return false
            }
            let digests = state.children?.map { $0.node.branch?.knownDigest } ?? []
            state.digests = digests.contains { $0 != nil } ? digests : []
            state.children = nil
            return true
        }
    }
}

/// The compressed children that are kept as nodes as well: about those that were used last, by the
/// clock algorithm.
private enum ExpandedChildren {
    /// How many runs of children: a few MiB, and never more than about 30.
    private static let capacity = 256

    private struct Clock {
        var runs: [CompressedChildren] = []
        /// The next run to look at.
        var hand = 0
    }

    private static let clock = Mutex(Clock())

    /// Notes children that were made.
    ///
    /// Beyond the capacity, those are forgotten that were not used since the hand last passed them.
    static func note(_ run: CompressedChildren) {
        clock.withLock { clock in
            guard clock.runs.count == capacity else {
                clock.runs.append(run)
                return
            }
            var passed = 0
            while !clock.runs[clock.hand].forget(evenIfUsed: passed >= capacity) {
                clock.hand = (clock.hand + 1) % capacity
                passed += 1
            }
            clock.runs[clock.hand] = run
            clock.hand = (clock.hand + 1) % capacity
        }
    }
}
