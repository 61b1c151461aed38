import LarderModel

/// A document among the results of a query; it exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
    // Immutable, as the class that it inherits from.

    init(_ firestore: Firestore, _ document: Document, _ state: SnapshotState) {
        super.init(firestore, document.path, document, state)
    }

    /// All fields by name, as ``DocumentSnapshot/data()`` gives them.
    public override func data() -> [String: Any] {
        data(with: .none)
    }

    /// All fields by name, with server timestamps that the server has not set as the parameter
    /// says.
    public override func data(
        with serverTimestampBehavior: ServerTimestampBehavior
    ) -> [String: Any] {
        guard let document else { return [:] }
        return fields(of: document, serverTimestampBehavior)
    }
}
