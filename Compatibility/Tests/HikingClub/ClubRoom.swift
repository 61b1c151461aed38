import FirebaseCore
import FirebaseDatabase
import Foundation

/// A message to the members who are there.
package struct Message: Codable, Equatable {
    package var author: String
    package var text: String

    package init(author: String, text: String) {
        self.author = author
        self.text = text
    }
}

/// Messages and presence of members, in the Realtime Database.
package final class ClubRoom {
    private let room: DatabaseReference
    private var handle: DatabaseHandle?

    package init(database: Database, name: String) {
        room = database.reference(withPath: "rooms").child(name)
    }

    // MARK: Messages

    /// Sends a message; the time is the server's.
    package func send(_ message: Message, completion: ((Error?) -> Void)? = nil) {
        let values: [String: Any] = [
            "author": message.author,
            "text": message.text,
            "sentAt": ServerValue.timestamp(),
        ]
        room.child("messages").childByAutoId().setValue(values) { error, _ in completion?(error) }
        room.child("summary").updateChildValues([
            "count": ServerValue.increment(1), "last": message.text,
        ])
    }

    /// Follows the newest messages.
    package func follow(last count: UInt, onMessage: @escaping (Message) -> Void) {
        handle = room.child("messages").queryOrderedByKey().queryLimited(toLast: count)
            .observe(.childAdded) { snapshot in
                guard let values = snapshot.value as? [String: Any],
                    let author = values["author"] as? String,
                    let text = values["text"] as? String
                else { return }
                onMessage(Message(author: author, text: text))
            }
    }

    package func stop() {
        if let handle {
            room.child("messages").removeObserver(withHandle: handle)
        }
        room.removeAllObservers()
    }

    /// The number of messages that were sent.
    package func messageCount() async throws -> Int {
        let snapshot = try await room.child("summary/count").getData()
        return snapshot.value as? Int ?? 0
    }

    /// All messages, oldest first.
    package func history() async throws -> [Message] {
        let snapshot = try await room.child("messages").getData()
        return try snapshot.children.map { child in
            guard let child = child as? DataSnapshot else { throw CocoaError(.coderInvalidValue) }
            return try child.data(as: Message.self)
        }
    }

    // MARK: Presence

    /// Shows a member as present until the connection ends.
    package func enter(as member: String) {
        let connected = room.database.reference(withPath: ".info/connected")
        connected.observe(.value) { [room] snapshot in
            guard snapshot.value as? Bool == true else { return }
            let presence = room.child("present").child(member)
            presence.onDisconnectRemoveValue()
            presence.setValue(true)
        }
    }

    /// Who is there.
    package func members() async throws -> [String] {
        let snapshot = try await room.child("present").getData()
        return (snapshot.value as? [String: Any] ?? [:]).keys.sorted()
    }

    // MARK: Voting

    /// Votes for a date; the result is the number of votes so far.
    package func vote(for date: String) async throws -> Int {
        let (isCommitted, snapshot) = try await room.child("votes").child(date)
            .runTransactionBlock { data in
                data.value = (data.value as? Int ?? 0) + 1
                return TransactionResult.success(withValue: data)
            }
        return isCommitted ? snapshot.value as? Int ?? 0 : 0
    }
}
