import LarderCore
import LarderRealtimeModel
import LarderRealtimeStore
import LarderStorage

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

// MARK: - Changes

extension WriteTransaction {
    mutating func write(
        _ values: [PathValue], in tree: TreeNumber
    ) throws(LarderError) {
        if values.count == 1 {
            try overwrite(values[0].path, with: values[0].node, in: tree)
        } else {
            try merge(values, at: .root, in: tree)
        }
    }

    mutating func apply(
        _ change: UncommittedChanges.Change, in tree: TreeNumber, of client: ClientNumber?,
        at time: Timestamp
    ) throws(LarderError) {
        switch change {
        case .content: break
        case .cache(let change): try apply(change, in: tree, of: client, at: time)
        case .saveTransaction(let write): try savePending(write, in: tree)
        case .forgetTransaction(let id): try removePending(id.rawValue, in: tree)
        case .saveRefused(let write): try saveRefused(write, in: tree)
        case .removeRefused(let id): try removeRefused(id.rawValue, in: tree)
        case .setToken(let token?):
            try putNamedValue(.global, DatabaseDisk.tokenName, Array(token.utf8))
        case .setToken(nil): try removeNamedValue(.global, DatabaseDisk.tokenName)
        case .setLastSession(let session):
            try setLastSession(session, of: client)
        case .setCacheRules(let rules): try setCacheRules(rules, ofTree: DatabaseDisk.treeName)
        }
    }

    private mutating func apply(
        _ change: CacheChange, in tree: TreeNumber, of client: ClientNumber?, at time: Timestamp
    ) throws(LarderError) {
        switch change {
        case .beginListen(let number, let query):
            if let client { try putListen(number, of: client, query) }
        case .passAccepted(let write): try put(write)
        case .removeAccepted(let id): try removeAcceptedWrite(id)
        case .endListen(let number): if let client { try removeListen(number, of: client) }
        case .overwrite, .merge: break  // These are content.
        case .saveQuery(let query), .noteUse(let query): try save(query, in: tree)
        case .removeQuery(let id): try removeTrackedQuery(id, in: tree)
        case .setKeys(let id, let keys): try setTrackedKeys(of: id, to: keys, in: tree)
        case .updateKeys(let id, let added, let removed):
            try changeTrackedKeys(of: id, adding: added, removing: removed, in: tree)
        case .saveWrite(let write):
            try savePending(StoredWrite(write, at: time), in: tree)
        case .removeWrite(let id): try removePending(id.rawValue, in: tree)
        case .removeAllWrites: try removeAllPending(in: tree)
        }
    }
}
