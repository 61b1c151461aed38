internal import LarderModel

/// What can stand in data as a reference to a document.
protocol DocumentReferenceConvertible {
    /// The database that the document is in.
    var databaseID: DatabaseID { get }
    /// The document's full name.
    var resourceName: ResourceName { get }
}
