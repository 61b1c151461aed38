import Foundation
package import LarderRealtime

extension Database {
    /// Adds an entry for this client whenever it is connected, which the server removes when the
    /// connection ends; it notes the time then, and counts.
    ///
    /// - Parameter acknowledged: called when the server has the entry, and what to write at the end.
    package func announceAda(_ acknowledged: @escaping @Sendable () -> Void = {}) {
        let user = reference(withPath: "users/ada")
        reference(withPath: ".info/connected").observe(.value) { snapshot in
            guard snapshot.value as? Bool ?? false else { return }
            let connection = user.child("connections").childByAutoId()
            connection.onDisconnectRemoveValue()
            user.child("lastOnline").onDisconnectSetValue(ServerValue.timestamp())
            user.child("leavings").onDisconnectSetValue(ServerValue.increment(1))
            connection.setValue(true) { error, _ in
                if error == nil { acknowledged() }
            }
        }
    }
}
