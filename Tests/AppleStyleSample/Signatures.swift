// Every signature of Apple's SDK that Larder has, as an application calls it. Compiled, never run:
// what must hold is that each line means something.

import Dispatch
import Foundation
import Larder

private func databases() -> [Firestore] {
    FirebaseApp.configure()
    let app: FirebaseApp? = FirebaseApp.app()
    guard let app else { return [] }
    return [
        Firestore.firestore(), Firestore.firestore(app: app),
        Firestore.firestore(app: app, database: "other"), Firestore.firestore(database: "other"),
    ]
}

@available(*, deprecated)
private func settings(_ db: Firestore) {
    let settings = FirestoreSettings()
    settings.host = "localhost:8080"
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue.main
    settings.isPersistenceEnabled = false
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    settings.cacheSettings = PersistentCacheSettings()
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)
    settings.cacheSettings = MemoryCacheSettings()
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
    let lru = MemoryLRUGCSettings(sizeBytes: 5_000_000 as NSNumber)
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: lru)
    let cache: LocalCacheSettings & NSObjectProtocol = settings.cacheSettings
    settings.cacheSettings = cache
    db.settings = settings
    let copy: FirestoreSettings = db.settings
    _ = copy
    let _: FirebaseApp = db.app
    db.useEmulator(withHost: "localhost", port: 8080)
    Firestore.enableLogging(true)
}

private func indexes(_ db: Firestore, _ stream: InputStream) {
    if let manager: PersistentCacheIndexManager = db.persistentCacheIndexManager {
        manager.enableIndexAutoCreation()
        manager.disableIndexAutoCreation()
        manager.deleteAllIndexes()
    }
    db.setIndexConfiguration("{}") { error in print(error as Any) }
    db.setIndexConfiguration("{}", completion: nil)
    db.setIndexConfiguration(stream) { _ in }
}

private func indexesAsync(_ db: Firestore, _ stream: InputStream) async throws {
    try await db.setIndexConfiguration("{}")
    try await db.setIndexConfiguration(stream)
}

private func network(_ db: Firestore) {
    db.enableNetwork { error in print(error as Any) }
    db.enableNetwork(completion: nil)
    db.disableNetwork { (error) in print(error as Any) }
    db.disableNetwork()
    db.clearPersistence { error in print(error as Any) }
    db.clearPersistence()
    db.waitForPendingWrites { error in print(error as Any) }
    db.terminate { error in print(error as Any) }
    db.terminate()
    let listener: ListenerRegistration = db.addSnapshotsInSyncListener { print("in sync") }
    listener.remove()
}

private func networkAsync(_ db: Firestore) async throws {
    try await db.enableNetwork()
    try await db.disableNetwork()
    try await db.clearPersistence()
    try await db.waitForPendingWrites()
    try await db.terminate()
}

private func references(_ db: Firestore) {
    let cities: CollectionReference = db.collection("cities")
    let city: DocumentReference = db.document("cities/SF")
    let group: Query = db.collectionGroup("landmarks")
    let _: String = cities.collectionID
    let _: DocumentReference? = cities.parent
    let _: String = cities.path
    let _: DocumentReference = cities.document()
    let _: DocumentReference = cities.document("SF")
    let _: String = city.documentID
    let _: CollectionReference = city.parent
    let _: String = city.path
    let _: Firestore = city.firestore
    let _: Firestore = group.firestore
    let _: CollectionReference = city.collection("landmarks")
    let _: Set<DocumentReference> = [city]
    let _: Bool = city == cities.document("SF") && cities == db.collection("cities")
}

private func filters(_ query: Query, _ path: FieldPath) -> [Query] {
    [
        query.whereField("a", isEqualTo: 1), query.whereField(path, isEqualTo: 1),
        query.whereField("a", isNotEqualTo: "x"), query.whereField(path, isNotEqualTo: "x"),
        query.whereField("a", isLessThan: 1.5), query.whereField(path, isLessThan: 1.5),
        query.whereField("a", isLessThanOrEqualTo: Date()),
        query.whereField(path, isLessThanOrEqualTo: Date()),
        query.whereField("a", isGreaterThan: Timestamp()),
        query.whereField(path, isGreaterThan: Timestamp()),
        query.whereField("a", isGreaterThanOrEqualTo: true),
        query.whereField(path, isGreaterThanOrEqualTo: true),
        query.whereField("a", arrayContains: "x"), query.whereField(path, arrayContains: "x"),
        query.whereField("a", arrayContainsAny: ["x", 1]),
        query.whereField(path, arrayContainsAny: ["x", 1]),
        query.whereField("a", in: [1, 2]), query.whereField(path, in: [1, 2]),
        query.whereField("a", notIn: [1, 2]), query.whereField(path, notIn: [1, 2]),
        query.whereFilter(
            Filter.orFilter([
                Filter.andFilter([
                    Filter.whereField("a", isEqualTo: 1), Filter.whereField(path, isEqualTo: 1),
                    Filter.whereField("a", isNotEqualTo: 1),
                    Filter.whereField(path, isNotEqualTo: 1),
                    Filter.whereField("a", isGreaterThan: 1),
                    Filter.whereField(path, isGreaterThan: 1),
                    Filter.whereField("a", isGreaterOrEqualTo: 1),
                    Filter.whereField(path, isGreaterOrEqualTo: 1),
                ]),
                Filter.whereField("a", isLessThan: 1), Filter.whereField(path, isLessThan: 1),
                Filter.whereField("a", isLessThanOrEqualTo: 1),
                Filter.whereField(path, isLessThanOrEqualTo: 1),
                Filter.whereField("a", arrayContains: 1),
                Filter.whereField(path, arrayContains: 1),
                Filter.whereField("a", arrayContainsAny: [1]),
                Filter.whereField(path, arrayContainsAny: [1]),
                Filter.whereField("a", in: [1]), Filter.whereField(path, in: [1]),
                Filter.whereField("a", notIn: [1]), Filter.whereField(path, notIn: [1]),
            ])),
    ]
}

private func orders(_ query: Query, _ path: FieldPath, _ document: DocumentSnapshot) -> [Query] {
    [
        query.order(by: "a"), query.order(by: path), query.order(by: "a", descending: true),
        query.order(by: path, descending: false), query.order(by: FieldPath.documentID()),
        query.limit(to: 3), query.limit(toLast: 3),
        query.start(at: [1, "x"]), query.start(after: [1]), query.end(at: [1]),
        query.end(before: [1]), query.start(atDocument: document),
        query.start(afterDocument: document), query.end(atDocument: document),
        query.end(beforeDocument: document),
    ]
}

private func reads(_ query: Query, _ document: DocumentReference) {
    query.getDocuments { snapshot, error in print(snapshot?.count ?? 0, error as Any) }
    query.getDocuments(source: .cache) { (snapshot, error) in _ = (snapshot, error) }
    query.getDocuments(source: FirestoreSource.server) { _, _ in }
    document.getDocument { document, error in
        if let document = document, document.exists { print(document.data() ?? [:]) }
        print(error?.localizedDescription ?? "")
    }
    document.getDocument(source: .default) { (document, error) in _ = (document, error) }
    document.getDocument(completion: { (document, error) in _ = (document, error) })
}

private func readsAsync(_ query: Query, _ document: DocumentReference) async throws {
    let _: QuerySnapshot = try await query.getDocuments()
    let _: QuerySnapshot = try await query.getDocuments(source: .cache)
    let _: DocumentSnapshot = try await document.getDocument()
    let _: DocumentSnapshot = try await document.getDocument(source: .server)
}

private func listeners(_ query: Query, _ document: DocumentReference) -> [ListenerRegistration] {
    let options: SnapshotListenOptions = SnapshotListenOptions()
        .withIncludeMetadataChanges(true).withSource(ListenSource.cache)
    let _: ListenSource = options.source
    let _: Bool = options.includeMetadataChanges
    return [
        query.addSnapshotListener { querySnapshot, error in _ = (querySnapshot, error) },
        query.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
            _ = (snapshot, error)
        },
        query.addSnapshotListener(options: options) { snapshot, error in _ = (snapshot, error) },
        document.addSnapshotListener { snapshot, error in _ = (snapshot, error) },
        document.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
            _ = (snapshot, error)
        },
        document.addSnapshotListener(options: options) { snapshot, error in
            _ = (snapshot, error)
        },
    ]
}

private func sequences(_ query: Query, _ document: DocumentReference) async throws {
    for try await snapshot in query.snapshots { print(snapshot.documents.count) }
    for try await snapshot in query.snapshots(includeMetadataChanges: true) { _ = snapshot }
    for try await snapshot in document.snapshots { print(snapshot.exists) }
    for try await snapshot in document.snapshots(includeMetadataChanges: true) { _ = snapshot }
}

private func snapshots(_ snapshot: QuerySnapshot) {
    let _: Query = snapshot.query
    let _: SnapshotMetadata = snapshot.metadata
    let _: Bool = snapshot.isEmpty
    let _: Int = snapshot.count
    for document: QueryDocumentSnapshot in snapshot.documents {
        let _: [String: Any] = document.data()
        let _: [String: Any] = document.data(with: .estimate)
    }
    snapshot.documentChanges.forEach { (diff: DocumentChange) in
        switch diff.type {
        case .added: print("new", diff.document.data())
        case .modified: print("modified", diff.oldIndex)
        case .removed: print("removed", diff.newIndex)
        }
        let _: DocumentChangeType = diff.type
        let _: UInt = diff.oldIndex
        let _: Bool = diff.newIndex == UInt(NSNotFound)
    }
    let _: [DocumentChange] = snapshot.documentChanges(includeMetadataChanges: true)
}

private func snapshot(_ snapshot: DocumentSnapshot) {
    let _: Bool = snapshot.exists
    let _: DocumentReference = snapshot.reference
    let _: String = snapshot.documentID
    let metadata: SnapshotMetadata = snapshot.metadata
    let _: Bool = metadata.hasPendingWrites || metadata.isFromCache
    let _: [String: Any]? = snapshot.data()
    let behaviors: [ServerTimestampBehavior] = [.none, .estimate, .previous]
    let _: [String: Any]? = snapshot.data(with: behaviors[0])
    let _: Any? = snapshot.get("a.b")
    let _: Any? = snapshot.get(FieldPath(["a", "b"]))
    let _: Any? = snapshot.get("a", serverTimestampBehavior: .previous)
    let _: String? = snapshot["a"] as? String
}

private func writes(_ cities: CollectionReference, _ city: DocumentReference) {
    var ref: DocumentReference?
    ref = cities.addDocument(data: ["name": "Tokyo"]) { err in
        if let err = err { print("Error: \(err)") }
    }
    cities.addDocument(data: ["name": "Tokyo"])
    city.setData(["name": "SF"])
    city.setData(["name": "SF"]) { error in print(error as Any) }
    city.setData(["capital": true], merge: true)
    city.setData(["capital": true], merge: true) { _ in }
    city.setData(["a": ["b": 1]], mergeFields: ["a.b", FieldPath(["a", "b"])])
    city.setData(["a": 1], mergeFields: ["a"]) { _ in }
    city.updateData(["capital": true, "a.b": FieldValue.delete()])
    city.updateData([FieldPath(["a", "b"]): 1])
    city.updateData(["lastUpdated": FieldValue.serverTimestamp()]) { err in _ = err }
    city.delete()
    city.delete { err in _ = err }
    print(ref?.documentID ?? "")
}

private func writesAsync(_ cities: CollectionReference, _ city: DocumentReference) async throws {
    let ref: DocumentReference = try await cities.addDocument(data: ["name": "Tokyo"])
    try await cities.addDocument(data: ["name": "Tokyo"])
    try await city.setData(["name": "SF"])
    try await city.setData(["capital": true], merge: true)
    try await city.setData(["a": 1], mergeFields: ["a"])
    try await city.updateData(["capital": true])
    try await city.delete()
    print(ref.path)
}

private func batches(_ db: Firestore, _ city: DocumentReference) {
    let batch: WriteBatch = db.batch()
    batch.setData(["a": 1], forDocument: city)
    batch.setData(["a": 1], forDocument: city, merge: true)
        .setData(["a": 1], forDocument: city, mergeFields: ["a"])
        .updateData(["a": 2], forDocument: city)
        .deleteDocument(city)
    batch.commit()
    batch.commit { err in _ = err }
    batch.commit(completion: nil)
}

private func batchesAsync(_ batch: WriteBatch) async throws {
    try await batch.commit()
}

private func transactions(_ db: Firestore, _ city: DocumentReference) {
    db.runTransaction({ (transaction, errorPointer) -> Any? in
        let document: DocumentSnapshot
        do {
            try document = transaction.getDocument(city)
        } catch let fetchError as NSError {
            errorPointer?.pointee = fetchError
            return nil
        }
        guard let old = document.data()?["population"] as? Int else {
            let error = NSError(
                domain: "AppErrorDomain", code: -1,
                userInfo: [NSLocalizedDescriptionKey: "no population"])
            errorPointer?.pointee = error
            return nil
        }
        transaction.setData(["a": 1], forDocument: city)
            .setData(["a": 1], forDocument: city, merge: true)
            .setData(["a": 1], forDocument: city, mergeFields: ["a"])
            .deleteDocument(city)
        transaction.updateData(["population": old + 1], forDocument: city)
        return old + 1
    }) { (object, error) in
        if let error = error { print("failed: \(error)") } else { print(object as Any) }
    }
    let options = TransactionOptions()
    options.maxAttempts = 3
    db.runTransaction(
        with: options, block: { (_, _) -> Any? in nil }, completion: { _, _ in })
}

private func transactionsAsync(_ db: Firestore, _ city: DocumentReference) async throws {
    let _ = try await db.runTransaction({ (transaction, errorPointer) -> Any? in
        do {
            let _ = try transaction.getDocument(city)
        } catch let fetchError as NSError {
            errorPointer?.pointee = fetchError
        }
        return nil
    })
}

private func aggregates(_ query: Query) {
    let count: AggregateQuery = query.count
    let _: Query = count.query
    count.getAggregation(source: .server) { snapshot, error in
        print(snapshot?.count ?? 0, error as Any)
    }
    let sum = AggregateField.sum("population")
    let fields = [
        AggregateField.count(), sum, AggregateField.sum(FieldPath(["a"])),
        AggregateField.average("a"), AggregateField.average(FieldPath(["a"])),
    ]
    query.aggregate(fields).getAggregation(source: AggregateSource.server) { snapshot, _ in
        let _: AggregateQuery? = snapshot?.query
        let _: NSNumber? = snapshot?.count
        let _: Any? = snapshot?.get(sum)
    }
}

private func aggregatesAsync(_ query: Query) async throws {
    let snapshot: AggregateQuerySnapshot = try await query.count.getAggregation(source: .server)
    print(snapshot.count, snapshot.get(AggregateField.count()) as Any)
}

private func values() -> [String: Any] {
    [
        "delete": FieldValue.delete(), "time": FieldValue.serverTimestamp(),
        "union": FieldValue.arrayUnion(["a", 1]), "remove": FieldValue.arrayRemove(["a"]),
        "up": FieldValue.increment(Int64(1)), "half": FieldValue.increment(0.5),
        "vector": FieldValue.vector([1.0, 2.0]), "place": GeoPoint(latitude: 1, longitude: 2),
        "instant": Timestamp(seconds: 1, nanoseconds: 2), "now": Timestamp(),
        "date": Timestamp(date: Date()).dateValue(), "components": VectorValue([1.0]).array,
    ]
}

private func errors(_ query: Query) async {
    do {
        _ = try await query.getDocuments(source: .server)
    } catch let error as NSError where error.domain == FirestoreErrorDomain {
        switch FirestoreErrorCode.Code(rawValue: error.code) {
        case .unavailable, .deadlineExceeded: print("later")
        case .permissionDenied: print("never")
        default: print(error.code == FirestoreErrorCode.notFound.rawValue)
        }
    } catch {
        print(error.localizedDescription)
    }
    do {
        _ = try await query.getDocuments(source: .server)
    } catch FirestoreErrorCode.unavailable {
        print("offline")
    } catch {
        print((error as NSError).code)
    }
}
