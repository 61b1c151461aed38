/// A backend that a database is kept in agreement with.
///
/// An opaque value: a backend gives it, a database's configuration takes it. Any number of
/// databases may use one.
public struct RemoteConnection: Sendable {
    /// The connection itself.
    package let remote: any Remote

    /// Makes a connection of a remote.
    package init(_ remote: any Remote) {
        self.remote = remote
    }
}
