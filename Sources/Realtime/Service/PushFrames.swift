import LarderRealtimeRemote
import LarderRealtimeWire
import Synchronization

/// The frames of the last push of a server, which its sessions share.
///
/// A backend sends a change to one listener after the other, most often the same to all: it is
/// encoded once. Can be used from any thread.
package final class PushFrames: Sendable {
    private let last = Mutex<(push: RealtimePush, frames: MessageFrames)?>(nil)

    package init() {}

    /// The frames of a push; nil if it is too large.
    func frames(of push: RealtimePush) -> MessageFrames? {
        // Equal nodes are most often the same ones, which are not compared.
        if let last = last.withLock({ $0 }), last.push == push { return last.frames }
        guard let frames = MessageFrames(ServerMessage.push(push).text) else { return nil }
        last.withLock { $0 = (push, frames) }
        return frames
    }
}
