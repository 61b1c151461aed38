import LarderModel
import Logging

extension DocumentReference: DocumentReferenceConvertible {
    /// The database that the document is in.
    var databaseID: DatabaseID { firestore.databaseID }

    /// The document's full name; that of nothing where the path is unsound.
    var resourceName: ResourceName {
        ResourceName("\(firestore.databaseID)/documents/\(path)")
    }
}

extension UserDataWriter {
    /// Makes values whose references are of a database object.
    init(serverTimestamps: ServerTimestampBehavior, references firestore: Firestore) {
        self.init(serverTimestamps: serverTimestamps) { name in
            guard let (database, path) = name.parts else {
                return DocumentReference(
                    firestore, text: name.string,
                    failure: LarderError(
                        .invalidArgument,
                        "'\(name)' is stored as a reference and names no document."))
            }
            if database != firestore.databaseID {
                firestore.logger.warning(
                    "A document refers to the database \(database); the reference is read as one of \(firestore.databaseID)."
                )
            }
            return DocumentReference(firestore, path)
        }
    }
}
