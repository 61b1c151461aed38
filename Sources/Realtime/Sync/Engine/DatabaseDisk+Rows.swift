import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore

// The rows of writes, pending and refused, and what they are in the engine.

extension StoredWrite {
    init(_ write: PendingWrite, at time: Timestamp) {
        let content: Content =
            switch write.change {
            case .overwrite(let node): .overwrite(write.path, node)
            case .merge(let values): .merge(write.path, values)
            }
        self.init(write.id.rawValue, at: time, content)
    }
}

extension RefusedWrite {
    init(_ write: DeadWrite) {
        let content: StoredWrite.Content =
            switch write.request {
            case .overwrite(let path, let node): .overwrite(path, node)
            case .merge(let path, let values): .merge(path, values)
            }
        self.init(
            StoredWrite(write.id.rawValue, at: write.writeTime, content), write.error,
            at: write.refusalTime)
    }
}

extension DeadWrite {
    init(_ refused: RefusedWrite) {
        let request: WriteRequest =
            switch refused.write.content {
            case .overwrite(let path, let node): .overwrite(path, node)
            case .merge(let path, let values): .merge(path, values)
            case .transaction(let transaction): .overwrite(transaction.path, transaction.output)
            }
        self.init(
            id: WriteID(refused.write.id), request: request, error: refused.error,
            writeTime: refused.write.time, refusalTime: refused.time)
    }
}
