import LarderCore
import LarderRealtimeModel
import LarderRuntime
import LarderStorage

/// A write that an earlier run has left.
struct SavedWrite {
    let write: PendingWrite
    let time: Timestamp
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

    func lastWriteID() throws(LarderError) -> WriteID {
        WriteID(0)
    }

    func savedWrites() throws(LarderError) -> [SavedWrite] { [] }

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

    func dropWrites(_ ids: Set<WriteID>) {
    }

    func commit() throws(LarderError) {
    }

    func close(_ completion: @escaping Completion<Void>) {
        completion(.success(()))
    }
}
