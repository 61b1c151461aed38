package import LarderModel
package import LarderRemote
import Synchronization

/// A write stream as a test looks at it; any thread may use it.
package final class WriteProbe: Sendable {
    /// What was heard on it.
    package struct Heard: Sendable {
        /// Whether the handshake was answered.
        package var hasHandshake = false
        /// The answers to writes, in order.
        package var responses: [CommitResponse] = []
        /// How the stream ended, if it did: with an error or, nil, in good order.
        package var ending: LarderError??
        /// The last token.
        package var token: [UInt8] = []
        /// How many events there were.
        package var eventCount = 0

        fileprivate mutating func receive(_ event: WriteEvent) {
            eventCount += 1
            switch event {
            case .opened: break
            case .handshake(let token, _): (hasHandshake, self.token) = (true, token)
            case .committed(let response, let token):
                responses.append(response)
                self.token = token
            case .closed(let error): ending = .some(error)
            }
        }
    }

    private let heard: Awaited<Heard>
    private let stream: any WriteStream

    /// Opens a stream and asks for the handshake.
    package init(_ remote: any Remote, as userID: String = "") {
        let heard = Awaited(Heard())
        self.heard = heard
        stream = remote.openWriteStream(as: Credentials(userID: userID)) { event in
            heard.change { $0.receive(event) }
        }
        stream.send(.handshake)
    }

    /// What was heard so far.
    package var current: Heard { heard.value }

    /// Sends a write with the last token.
    package func write(_ mutations: Mutation...) {
        stream.send(.write(mutations, streamToken: heard.value.token))
    }

    /// Sends a write with a name and the last token.
    package func write(_ mutations: Mutation..., once name: WriteToken) {
        stream.send(.write(mutations, streamToken: heard.value.token, once: name))
    }

    /// Ends the stream.
    package func close() {
        stream.close()
    }

    /// Waits until something was heard.
    package func wait(_ condition: @escaping @Sendable (Heard) -> Bool) async {
        await heard.wait(condition)
    }
}
