import LarderCore
import LarderRealtimeModel
import LarderRealtimeRemote
import LarderRealtimeWire
import Synchronization

/// A message on its way to one or several clients: encoded when the first of them takes it, and held
/// and charged once.
final class OutgoingMessage: Sendable {
    private enum Content {
        case message(ServerMessage)
        /// nil for a message that is too large.
        case frames(MessageFrames?)
    }

    /// The size of messages that are not charged: their places in the lines are.
    private static let smallBytes = 4 << 10

    /// The size before the message is encoded.
    let estimatedBytes: Int
    private let content: Mutex<Content>
    private let charge: SharedCharge?
    private let encoded = Atomic<Bool>(false)

    /// True once ``frames`` takes no time.
    var isEncoded: Bool { encoded.load(ordering: .acquiring) }

    /// - Parameter memory: an account of the ledger that the message is charged to.
    init(_ message: ServerMessage, estimatedBytes: Int, _ memory: MemoryAccount?) {
        self.estimatedBytes = estimatedBytes
        content = Mutex(.message(message))
        charge = estimatedBytes > Self.smallBytes ? memory?.share(estimatedBytes) : nil
    }

    /// The frames; nil if there are too many.
    var frames: MessageFrames? {
        content.withLock { content in
            switch content {
            case .frames(let frames): return frames
            case .message(let message):
                let frames = MessageFrames(message.text)
                content = .frames(frames)
                encoded.store(true, ordering: .releasing)
                charge?.change(to: frames?.byteCount ?? 0)
                return frames
            }
        }
    }
}

/// The last push of a server, which its sessions share.
///
/// A backend sends a change to one listener after the other, most often the same to all: it is
/// encoded once. Can be used from any thread.
package final class PushFrames: Sendable {
    private let last = LastMade<RealtimePush, OutgoingMessage> { $0.isSame(as: $1) }

    package init() {}

    /// The message of a push.
    func message(of push: RealtimePush, _ memory: MemoryAccount?) -> OutgoingMessage {
        let make = {
            OutgoingMessage(
                .push(push), estimatedBytes: ConnectionEvent.push(push).estimatedBytes, memory)
        }
        return last.value(of: push, for: memory, size: \.estimatedBytes, make) ?? make()
    }
}
