import FirebaseFirestore
import LarderBackend
import XCTest

/// The edition of a backend, as Apple's tests distinguish them.
public enum BackendEdition {
    /// The rules of Firestore's first edition, which Larder's backend follows.
    case standard
    /// Those of the other one.
    case enterprise
}

/// The backends of Apple's tests.
public enum TargetBackend {
    case emulator
    case nightly
}

/// What Apple's integration tests call, by the names that they use: a database with a backend in
/// this process, and blocking reads and writes.
open class FSTIntegrationTestCase: XCTestCase {
    /// A database of its own for each test.
    public var db: Firestore { databases.reader }

    /// The database, and another one of the same backend, whose writes its cache does not have.
    private lazy var databases = Self.makeDatabases()

    /// Callbacks must not need the thread of a test, which waits for them.
    static let callbackQueue = DispatchQueue(label: "apple.tests")

    private static func makeDatabases() -> (reader: Firestore, writer: Firestore) {
        let project = "test-\(UUID().uuidString)"
        guard let backend = try? Backend(BackendConfiguration(project: project)) else {
            fatalError("no backend in memory")
        }
        return (
            database("\(project)-reader", project, backend),
            database("\(project)-writer", project, backend)
        )
    }

    private static func database(_ name: String, _ project: String, _ backend: Backend) -> Firestore
    {
        FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: project))
        guard let app = FirebaseApp.app(name: name) else { fatalError("no app") }
        let db = Firestore.firestore(app: app)
        let settings = db.settings
        settings.dispatchQueue = callbackQueue
        db.settings = settings
        db.useBackend(backend.connection)
        return db
    }

    /// The events of the listener of a test.
    public private(set) lazy var eventAccumulator = FSTEventAccumulator<any AnySnapshot>(
        forTest: self)

    /// The backend, as Apple's tests distinguish them.
    public class func targetBackend() -> TargetBackend { .emulator }

    /// True, as against Google's emulator, which needs no composite indexes either.
    public class func isRunningAgainstEmulator() -> Bool { true }

    /// The edition that the backend follows.
    public class func backendEdition() -> BackendEdition { .standard }

    // MARK: Places

    /// A new collection.
    public func collectionRef() -> CollectionReference {
        db.collection("c-\(UUID().uuidString)")
    }

    /// A new collection with documents, which the backend has.
    public func collectionRef(withDocuments documents: [String: [String: Any]])
        -> CollectionReference
    {
        let collection = collectionRef()
        writeAllDocuments(
            documents, toCollection: databases.writer.collection(collection.path))
        return collection
    }

    /// A new document's place.
    public func documentRef() -> DocumentReference {
        collectionRef().document()
    }

    // MARK: Reads and writes that wait

    /// Writes documents and waits for the backend.
    public func writeAllDocuments(
        _ documents: [String: [String: Any]], toCollection collection: CollectionReference
    ) {
        let batch = collection.firestore.batch()
        for (id, fields) in documents {
            batch.setData(fields, forDocument: collection.document(id))
        }
        wait { done in batch.commit { done($0) } }
    }

    /// Adds a document, and waits for the backend.
    public func addDocumentRef(_ collection: CollectionReference, data: [String: Any]) {
        wait { done in collection.document().setData(data, completion: done) }
    }

    /// Updates a document, and waits for the backend.
    public func updateDocumentRef(_ reference: DocumentReference, data: [String: Any]) {
        wait { done in reference.updateData(data, completion: done) }
    }

    /// Runs a transaction, and waits for its end, whatever it is.
    public func runTransaction(
        _ db: Firestore, block: @escaping (Transaction, NSErrorPointer) -> Any?
    ) {
        wait { done in db.runTransaction(block) { _, _ in done(nil) } }
    }

    /// Reads a document.
    @discardableResult
    public func readDocument(forRef reference: DocumentReference) -> DocumentSnapshot {
        var read: DocumentSnapshot?
        wait { done in
            reference.getDocument { snapshot, error in
                read = snapshot
                done(error)
            }
        }
        guard let read else { fatalError("\(reference.path) cannot be read") }
        return read
    }

    /// Reads the documents of a query.
    @discardableResult
    public func readDocumentSet(forRef query: Query) -> QuerySnapshot {
        var read: QuerySnapshot?
        wait { done in
            query.getDocuments { snapshot, error in
                read = snapshot
                done(error)
            }
        }
        guard let read else { fatalError("a query cannot be read") }
        return read
    }

    /// Checks that a query has the same results at the backend and in the cache.
    public func checkOnlineAndOfflineCollection(
        _ collection: CollectionReference, query: Query, matchesResult expected: [String]
    ) {
        _ = ids(collection, .server)
        XCTAssertEqual(ids(query, .server), expected, "at the backend")
        XCTAssertEqual(ids(query, .cache), expected, "in the cache")
    }

    private func ids(_ query: Query, _ source: FirestoreSource) -> [String] {
        var ids: [String] = []
        wait { done in
            query.getDocuments(source: source) { snapshot, error in
                ids = snapshot.map(FIRQuerySnapshotGetIDs) ?? []
                done(error)
            }
        }
        return ids
    }

    /// Waits for a call of the completion handler, which must have no error.
    private func wait(_ body: (@escaping ((any Error)?) -> Void) -> Void) {
        let done = DispatchSemaphore(value: 0)
        body { error in
            XCTAssertNil(error)
            done.signal()
        }
        XCTAssertEqual(done.wait(timeout: .now() + 60), .success)
    }

    // MARK: Expectations

    /// A completion handler that `awaitExpectations()` waits for.
    public func completionForExpectation(withName name: String) -> ((any Error)?) -> Void {
        let expectation = expectation(description: name)
        return { error in
            XCTAssertNil(error, name)
            expectation.fulfill()
        }
    }

    /// Waits for all completion handlers and expectations.
    public func awaitExpectations() {
        waitForExpectations(timeout: 60)
    }

    /// Disables the network, and waits.
    public func disableNetwork() {
        wait { done in db.disableNetwork(completion: done) }
    }

    /// Enables the network, and waits.
    public func enableNetwork() {
        wait { done in db.enableNetwork(completion: done) }
    }
}

/// The fields of a snapshot's documents.
public func FIRQuerySnapshotGetData(_ snapshot: QuerySnapshot) -> [[String: Any]] {
    snapshot.documents.map { $0.data() }
}

/// The IDs of a snapshot's documents.
public func FIRQuerySnapshotGetIDs(_ snapshot: QuerySnapshot) -> [String] {
    snapshot.documents.map(\.documentID)
}

/// A document of a database that all tests share, so that equal paths are equal references.
public func FSTTestDocRef(_ path: String) -> DocumentReference {
    Firestore.firestore(database: "references").document(path)
}

/// Calls what may raise an exception of Objective-C, of which there are none here.
public enum FSTExceptionCatcher {
    /// Calls a closure.
    public static func catchException(_ body: () -> Void) throws {
        body()
    }
}

/// Looks for exceptions of Objective-C, of which there are none here.
public enum FSTNSExceptionUtil {
    /// Calls a closure; false.
    public static func testForException(_ body: () -> Any, reasonContains: String) -> Bool {
        _ = body()
        return false
    }
}

/// A value that is never needed: the code that uses it is compiled, not run.
public func neverRun<Value>(_ type: Value.Type) -> Value {
    fatalError("this code is compiled, not run")
}
