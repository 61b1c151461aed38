// Every signature of Apple's SDK that LarderRealtime has, as an application calls it. Compiled,
// never run: what must hold is that each line means something.

import Dispatch
import Foundation
import LarderRealtime

private func databases() -> [Database] {
    FirebaseApp.configure()
    let app: FirebaseApp? = FirebaseApp.app()
    guard let app else { return [] }
    return [
        Database.database(), Database.database(app: app),
        Database.database(url: "https://game.firebaseio.com"),
        Database.database(app: app, url: "http://localhost:9000?ns=game"),
    ]
}

private func settings(_ database: Database) {
    database.isPersistenceEnabled = true
    database.persistenceCacheSizeBytes = 50 * 1024 * 1024
    database.callbackQueue = DispatchQueue(label: "callbacks")
    database.useEmulator(withHost: "localhost", port: 9000)
    let _: FirebaseApp? = database.app
    let _: Bool = database.isPersistenceEnabled
    let _: UInt = database.persistenceCacheSizeBytes
    let _: DispatchQueue = database.callbackQueue
    Database.setLoggingEnabled(true)
    let _: String = Database.sdkVersion()
    database.goOffline()
    database.goOnline()
    database.purgeOutstandingWrites()
    DatabaseReference.goOffline()
    DatabaseReference.goOnline()
}

private func references(_ database: Database) {
    let root: DatabaseReference = database.reference()
    let users: DatabaseReference = database.reference(withPath: "users")
    let _: DatabaseReference = database.reference(fromURL: "https://game.firebaseio.com/users")
    let ada: DatabaseReference = users.child("ada")
    let _: DatabaseReference = users.childByAutoId()
    let _: DatabaseReference? = ada.parent
    let _: DatabaseReference = ada.root
    let _: String? = ada.key
    let _: String = ada.url
    let _: String = root.description()
    let _: Database = ada.database
    let query: DatabaseQuery = ada
    let _: DatabaseReference = query.ref
}

private func queries(_ ref: DatabaseReference) -> [DatabaseQuery] {
    [
        ref.queryLimited(toFirst: 10), ref.queryLimited(toLast: 10),
        ref.queryOrdered(byChild: "height"), ref.queryOrderedByKey(), ref.queryOrderedByValue(),
        ref.queryOrderedByPriority(), ref.queryStarting(atValue: 1),
        ref.queryStarting(atValue: 1, childKey: "a"), ref.queryStarting(afterValue: 1),
        ref.queryStarting(afterValue: 1, childKey: "a"), ref.queryEnding(atValue: nil),
        ref.queryEnding(atValue: "z", childKey: "a"), ref.queryEnding(beforeValue: 1),
        ref.queryEnding(beforeValue: 1, childKey: "a"), ref.queryEqual(toValue: 1),
        ref.queryEqual(toValue: 1, childKey: "a"),
    ]
}

private func observers(_ query: DatabaseQuery) {
    let types: [DataEventType] = [.childAdded, .childRemoved, .childChanged, .childMoved, .value]
    for type in types { query.observe(type) { snapshot in print(snapshot.key) } }
    let handle: DatabaseHandle = query.observe(.value, with: { _ in })
    query.observe(.value, with: { _ in }, withCancel: { error in print(error) })
    query.observe(
        .childAdded,
        andPreviousSiblingKeyWith: { snapshot, previous in print(snapshot, previous as Any) })
    query.observe(
        .childAdded, andPreviousSiblingKeyWith: { _, _ in }, withCancel: { error in print(error) })
    query.observeSingleEvent(of: .value) { snapshot in print(snapshot) }
    query.observeSingleEvent(of: .value, with: { _ in }, withCancel: { _ in })
    query.observeSingleEvent(of: .childAdded, andPreviousSiblingKeyWith: { _, _ in })
    query.observeSingleEvent(
        of: .childAdded, andPreviousSiblingKeyWith: { _, _ in }, withCancel: { _ in })
    query.getData { error, snapshot in print(error as Any, snapshot as Any) }
    query.getData(completion: { _, _ in })
    query.removeObserver(withHandle: handle)
    query.removeAllObservers()
    query.keepSynced(true)
}

private func observersAsync(_ query: DatabaseQuery) async throws {
    let _: DataSnapshot = await query.observeSingleEvent(of: .value)
    let (_, _): (DataSnapshot, String?) =
        await query.observeSingleEventAndPreviousSiblingKey(of: .childAdded)
    let _: DataSnapshot = try await query.getData()
}

private func writes(_ ref: DatabaseReference) {
    ref.setValue(["name": "Ada"])
    ref.setValue(1) { error, ref in print(error as Any, ref) }
    ref.setValue(1, withCompletionBlock: { _, _ in })
    ref.setValue("a", andPriority: 1)
    ref.setValue("a", andPriority: "p") { error, ref in print(error as Any, ref) }
    ref.removeValue()
    ref.removeValue { error, ref in print(error as Any, ref) }
    ref.removeValue(completionBlock: { _, _ in })
    ref.setPriority(1)
    ref.setPriority(nil) { error, ref in print(error as Any, ref) }
    ref.updateChildValues(["name": "Ada", "address/city": "London", "gone": NSNull()])
    ref.updateChildValues(["name": "Ada"]) { error, ref in print(error as Any, ref) }
    ref.setValue(ServerValue.timestamp())
    ref.setValue(ServerValue.increment(1))
    ref.setValue(ServerValue.increment(NSNumber(value: 0.5)))
}

private func writesAsync(_ ref: DatabaseReference) async throws {
    try await ref.setValue(["name": "Ada"])
    let _: DatabaseReference = try await ref.setValue(1)
    try await ref.setValue("a", andPriority: 1)
    try await ref.removeValue()
    try await ref.setPriority(1)
    try await ref.updateChildValues(["name": "Ada"])
}

private func transactions(_ ref: DatabaseReference) {
    ref.runTransactionBlock { data in
        let _: Any? = data.priority
        data.value = (data.value as? Int ?? 0) + 1
        return TransactionResult.success(withValue: data)
    }
    ref.runTransactionBlock({ _ in .abort() }) { error, isCommitted, snapshot in
        print(error as Any, isCommitted, snapshot as Any)
    }
    ref.runTransactionBlock(
        { (data: MutableData) -> TransactionResult in .success(withValue: data) },
        andCompletionBlock: { _, _, _ in }, withLocalEvents: false)
}

private func transactionsAsync(_ ref: DatabaseReference) async throws {
    let (_, _): (Bool, DataSnapshot) = try await ref.runTransactionBlock { data in
        .success(withValue: data)
    }
}

private func mutableData(_ data: MutableData) {
    let _: String? = data.key
    let _: UInt = data.childrenCount
    let _: Bool = data.hasChildren()
    let _: Bool = data.hasChild(atPath: "a/b")
    let child: MutableData = data.childData(byAppendingPath: "a")
    child.value = 1
    child.priority = 2
    while let next = data.children.nextObject() as? MutableData { print(next.key as Any) }
}

private func presence(_ ref: DatabaseReference) {
    ref.onDisconnectSetValue("offline")
    ref.onDisconnectSetValue(ServerValue.timestamp())
    ref.onDisconnectSetValue("a") { error, ref in print(error as Any, ref) }
    ref.onDisconnectSetValue("a", andPriority: 1)
    ref.onDisconnectSetValue("a", andPriority: 1) { error, ref in print(error as Any, ref) }
    ref.onDisconnectRemoveValue()
    ref.onDisconnectRemoveValue { error, ref in print(error as Any, ref) }
    ref.onDisconnectUpdateChildValues(["a": 1])
    ref.onDisconnectUpdateChildValues(["a": 1]) { error, ref in print(error as Any, ref) }
    ref.cancelDisconnectOperations()
    ref.cancelDisconnectOperations { error, ref in print(error as Any, ref) }
}

private func presenceAsync(_ ref: DatabaseReference) async throws {
    try await ref.onDisconnectSetValue("offline")
    try await ref.onDisconnectSetValue("offline", andPriority: 1)
    try await ref.onDisconnectRemoveValue()
    try await ref.onDisconnectUpdateChildValues(["a": 1])
    try await ref.cancelDisconnectOperations()
}

private func snapshots(_ snapshot: DataSnapshot) {
    let _: String = snapshot.key
    let _: Any? = snapshot.value
    let _: Any? = snapshot.valueInExportFormat()
    let _: Any? = snapshot.priority
    let _: DatabaseReference = snapshot.ref
    let _: Bool = snapshot.exists()
    let _: Bool = snapshot.hasChild("a")
    let _: Bool = snapshot.hasChildren()
    let _: UInt = snapshot.childrenCount
    let _: DataSnapshot = snapshot.childSnapshot(forPath: "a/b")
    let children: NSEnumerator = snapshot.children
    for case let child as DataSnapshot in children { print(child.key) }
}

private struct Player: Codable {
    var name: String
    @ServerTimestamp var joined: Date?
}

private func codable(_ ref: DatabaseReference, _ snapshot: DataSnapshot) throws {
    try ref.setValue(from: Player(name: "Ada"))
    try ref.setValue(from: Player(name: "Ada")) { error in print(error as Any) }
    let encoder = Database.Encoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    try ref.setValue(from: Player(name: "Ada"), encoder: encoder)
    let _: Player = try snapshot.data(as: Player.self)
    let decoder = Database.Decoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let _: Player = try snapshot.data(as: Player.self, decoder: decoder)
}
