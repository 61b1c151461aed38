/// As whom a client speaks to a backend.
package struct Credentials: Sendable, Hashable {
    /// The user's id; empty for nobody who signed in.
    package var userID: String

    /// A user by an id.
    package init(userID: String = "") {
        self.userID = userID
    }
}
