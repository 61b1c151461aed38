// An application with both databases: it compiles, and names of both products are qualified by
// module.

import Foundation
import Larder
import LarderRealtime

/// A document with the time of its last write.
package struct DatedCity: Codable {
    package var name: String
    @Larder.ServerTimestamp package var updated: Timestamp?
}

/// A node of the tree with the time of its last write.
package struct Message: Codable {
    package var text: String
    @LarderRealtime.ServerTimestamp package var sent: Date?
}

/// Both databases of the default application object.
package func openBoth() throws -> (Firestore, Database) {
    FirebaseApp.configure()
    return (Firestore.firestore(), Database.database())
}

/// A value of each.
package func write(_ store: Firestore, _ database: Database) throws {
    let encoder = Firestore.Encoder()
    _ = try encoder.encode(DatedCity(name: "London", updated: nil))
    try database.reference(withPath: "messages").childByAutoId().setValue(
        from: Message(text: "hello", sent: nil), encoder: Database.Encoder())
    store.document("cities/LON").setData(["name": "London"])
}

/// Changes of both, as sequences of one type.
package func follow(_ store: Firestore, _ database: Database) -> (
    SnapshotSequence<DocumentSnapshot>, SnapshotSequence<DataSnapshot>
) {
    (store.document("cities/LON").snapshots, database.reference(withPath: "messages").values)
}
