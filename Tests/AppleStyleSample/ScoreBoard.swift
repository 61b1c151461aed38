import Foundation
import LarderRealtime

/// What an application has between its screens and the Realtime Database, written as the guide to
/// offline capabilities shows it: only the import line tells that this is not Apple's SDK.
package final class ScoreBoard: @unchecked Sendable {
    // Used on the callback queue only.

    package private(set) var lines: [String] = []
    package private(set) var isConnected = false
    package private(set) var skew: TimeInterval?

    private let database: Database
    private var scoresRef: DatabaseReference { database.reference(withPath: "scores") }

    package init(_ database: Database) {
        self.database = database
    }

    /// Disk persistence of the shared database, before its first use.
    package static func persist() {
        Database.database().isPersistenceEnabled = true
    }

    package func keepFresh() {
        scoresRef.keepSynced(true)
    }

    package func keepFreshNoMore() {
        scoresRef.keepSynced(false)
    }

    package func showTop(_ count: UInt) {
        scoresRef.queryOrderedByValue().queryLimited(toLast: count).observe(.childAdded) {
            [self] snapshot in
            lines.append("\(snapshot.key) has \(snapshot.value ?? "nothing")")
        }
    }

    package func countTop(_ count: UInt) {
        scoresRef.queryOrderedByValue().queryLimited(toLast: count).observe(.value) {
            [self] snapshot in
            lines.append("\(snapshot.childrenCount) scores")
        }
    }

    // MARK: Presence

    package func followConnection() {
        let connectedRef = database.reference(withPath: ".info/connected")
        connectedRef.observe(
            .value,
            with: { [self] snapshot in
                if snapshot.value as? Bool ?? false {
                    isConnected = true
                } else {
                    isConnected = false
                }
            })
    }

    package func followClock() {
        let offsetRef = database.reference(withPath: ".info/serverTimeOffset")
        offsetRef.observe(
            .value,
            with: { [self] snapshot in
                if let offset = snapshot.value as? TimeInterval { skew = offset }
            })
    }

    package func leaveMessage() {
        let presenceRef = database.reference(withPath: "farewell")
        presenceRef.onDisconnectSetValue("gone")
        presenceRef.onDisconnectRemoveValue { [self] error, reference in
            if let error { lines.append("not armed: \(error)") }
        }
        presenceRef.onDisconnectSetValue("gone for good")
        presenceRef.cancelDisconnectOperations()
    }

    package func leaveTime() {
        let lastOnlineRef = database.reference(withPath: "users/morgan/lastOnline")
        lastOnlineRef.onDisconnectSetValue(ServerValue.timestamp())
    }

    /// A user is present while one of the user's devices is connected, and was last seen when the
    /// last one left.
    package func bePresent() {
        let myConnectionsRef = database.reference(withPath: "users/morgan/connections")
        let lastOnlineRef = database.reference(withPath: "users/morgan/lastOnline")
        let connectedRef = database.reference(withPath: ".info/connected")
        connectedRef.observe(
            .value,
            with: { snapshot in
                guard snapshot.value as? Bool ?? false else { return }
                let con = myConnectionsRef.childByAutoId()
                // Armed before the entry is written, so that no entry outlives its connection.
                con.onDisconnectRemoveValue()
                con.setValue(true)
                lastOnlineRef.onDisconnectSetValue(ServerValue.timestamp())
            })
    }
}
