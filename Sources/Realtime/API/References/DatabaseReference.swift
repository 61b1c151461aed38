import LarderCore
import LarderRealtimeModel

/// A location of the database, to read, observe and write.
///
/// A reference to an invalid path keeps the error; every operation on it fails with
/// ``DatabaseError/kind`` `invalidArgument`.
public final class DatabaseReference: DatabaseQuery, @unchecked Sendable {
    // Immutable.

    init(_ owner: Database, _ path: Result<TreePath, LarderError>) {
        super.init(owner, path.map { Target(path: $0) })
    }

    var path: Result<TreePath, LarderError> { target.map(\.path) }

    /// The database of the location.
    public var database: Database { owner }

    /// The last component of the path; nil for the root and for an invalid path.
    public var key: String? {
        (try? path.get())?.last?.text
    }

    /// The location above; nil for the root.
    public var parent: DatabaseReference? {
        guard let parent = (try? path.get())?.parent else { return nil }
        return DatabaseReference(owner, .success(parent))
    }

    /// The root of the database.
    public var root: DatabaseReference {
        DatabaseReference(owner, .success(.root))
    }

    /// The URL of the location, with percent-encoded components.
    public var url: String {
        owner.location.url(of: (try? path.get()) ?? .root)
    }

    /// The location below at a relative path, such as `ada` or `users/ada`.
    public func child(_ pathString: String) -> DatabaseReference {
        DatabaseReference(
            owner,
            path.flatMap { path in
                Result { () throws(LarderError) in
                    try TreePath(validating: pathString, below: path)
                }
            })
    }

    /// A location below with a new key; such keys sort in the order of their creation.
    public func childByAutoId() -> DatabaseReference {
        DatabaseReference(owner, path.map { $0.child(owner.newPushID()) })
    }

    /// The URL of the location.
    public func description() -> String { url }
}

extension DatabaseReference: TextOutputStreamable {
    /// Writes the URL of the location.
    public func write<Target: TextOutputStream>(to target: inout Target) {
        target.write(url)
    }
}
