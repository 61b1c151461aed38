package import LarderModel

/// Makes the connection of a database to its backend when the database opens, to where its
/// settings say.
///
/// An opaque value: a module that connects gives it, a database's configuration takes it. Any
/// number of databases may use one; each has a connection of its own, for as long as it lives.
public struct RemoteConnector: Sendable {
    /// What a database says of itself and of its backend.
    package struct Place: Sendable, Hashable {
        /// The database.
        package var database: DatabaseID
        /// The backend's host, with or without a port; nil where the settings name none.
        package var host: String?
        /// Whether what travels there is encrypted.
        package var isEncrypted: Bool

        /// A database, and a host where its settings name one.
        package init(_ database: DatabaseID, host: String? = nil, isEncrypted: Bool = true) {
            self.database = database
            self.host = host
            self.isEncrypted = isEncrypted
        }
    }

    /// Makes a connection; may block for files that it needs.
    package let connect: @Sendable (Place) throws(LarderError) -> RemoteConnection

    /// A connector of a closure.
    package init(
        _ connect: @escaping @Sendable (Place) throws(LarderError) -> RemoteConnection
    ) {
        self.connect = connect
    }
}
