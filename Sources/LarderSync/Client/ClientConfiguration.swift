package import LarderModel
package import LarderStorage

/// How a client is opened.
package struct ClientConfiguration: Sendable {
    /// The store below it.
    package var storage: StoreConfiguration

    /// The project and database that references in documents name.
    package var databaseID: DatabaseID

    /// Whose pending writes are made and seen.
    package var user = UserID.unauthenticated

    /// Whether documents go as soon as no listener and no pending write needs them; for stores
    /// in memory.
    package var collectsEagerly = false

    /// Whether indexes are made by themselves from the start; see ``AutomaticIndexes``.
    package var makesIndexes = false

    /// The local clock, for the times of writes.
    package var clock: @Sendable () -> Timestamp = { Timestamp.now() }

    /// A client of a store, with the defaults for everything else.
    package init(storage: StoreConfiguration, databaseID: DatabaseID) {
        self.storage = storage
        self.databaseID = databaseID
    }
}
