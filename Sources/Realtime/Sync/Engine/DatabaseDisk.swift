import LarderCore
import LarderRealtimeModel
import LarderRuntime
import LarderStorage

/// What an earlier run has left.
enum SavedWork {
    case write(PendingWrite, Timestamp)
    case transaction(SavedTransaction, Timestamp, wasSent: Bool)
}

/// The store of a database, and the changes of the turn that are to be committed; without a store
/// everything is kept in memory.
final class DatabaseDisk {
    private(set) var token: String?
    private(set) var deadWrites: [DeadWrite] = []

    init(_ configuration: StoreConfiguration?) throws(LarderError) {
    }

    func makeTree(now: Int64) throws(LarderError) -> SyncTree {
        SyncTree()
    }

    func savedWork() throws(LarderError) -> [SavedWork] { [] }

    func save(_ transaction: SavedTransaction, _ time: Timestamp) {}

    func forget(_ transaction: TransactionID) {}

    func noteSent(_ transaction: TransactionID) {}

    func setToken(_ token: String?) {
        self.token = token
    }

    func add(_ write: DeadWrite) {
        deadWrites.append(write)
    }

    func removeDeadWrite(_ id: WriteID) -> Bool {
        guard let index = deadWrites.firstIndex(where: { $0.id == id }) else { return false }
        deadWrites.remove(at: index)
        return true
    }

    func drop(_ ids: Set<WriteID>) {
    }

    func commit() throws(LarderError) {
    }

    func close(_ completion: @escaping Completion<Void>) {
        completion(.success(()))
    }
}
