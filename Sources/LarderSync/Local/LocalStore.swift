package import LarderModel
package import LarderStorage

/// The pending writes of one user, and the local view that they make of the cached documents.
///
/// A document's local view is the cached document with every pending batch that touches it
/// applied in order. The store keeps that view as an overlay, so that reads replay nothing; each
/// call here leaves documents, queue and overlays in agreement, in one commit.
///
/// Every call blocks: for its turn to write and for the disk. Never call on Swift's cooperative
/// threads.
package struct LocalStore: Sendable {
    /// Where documents, queue and overlays lie.
    package let store: Store
    /// Whose queue and local view.
    package let user: UserID
    /// The database that the documents belong to.
    package let databaseID: DatabaseID

    /// The pending writes of a user in a store.
    ///
    /// It holds no state: any number of them may be made for one store.
    package init(store: Store, user: UserID, databaseID: DatabaseID) {
        self.store = store
        self.user = user
        self.databaseID = databaseID
    }
}
