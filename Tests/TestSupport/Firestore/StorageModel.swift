import LarderModel

/// Storage in plain collections, without any thought of speed: what the law measures others by.
public struct StorageModel {
    struct Row {
        var state: Document.State
        var version: SnapshotVersion
        var fields: MapValue
    }

    struct Batch {
        var documents: [DocumentPath]
        var payload: [UInt8]
        var attempts = 0
        var failure: String?
    }

    struct Overlay {
        var fields: MapValue?
        var batch: Int64
    }

    struct Target {
        var canonicalID: String
        var documents: Set<DocumentPath> = []
    }

    var documents: [DocumentPath: Row] = [:]
    var batches: [String: [Int64: Batch]] = [:]
    var overlays: [String: [DocumentPath: Overlay]] = [:]
    var targets: [Int32: Target] = [:]

    /// The highest batch id of a commit.
    var highestBatchID: Int64 = 0

    /// A storage that holds nothing.
    public init() {}

    /// Makes a change and gives its answer.
    ///
    /// The id of a new batch is taken from the storage under test; 0 when it is not above all
    /// before it.
    public mutating func apply(_ operation: StorageOperation, batchID: Int64) -> StorageAnswer {
        switch operation {
        case .put(let path, let fields, let version):
            documents[path] = Row(state: .found, version: version, fields: fields)
        case .putAbsent(let path, let version):
            documents[path] = Row(state: .absent, version: version, fields: [:])
        case .putUnknown(let path, let version):
            documents[path] = Row(state: .unknown, version: version, fields: [:])
        case .remove(let path):
            return documents.removeValue(forKey: path) == nil ? 0 : 1
        case .append(let user, let paths, let payload):
            guard batchID > highestBatchID else { return 0 }
            highestBatchID = batchID
            batches[user, default: [:]][batchID] = Batch(documents: paths, payload: payload)
            return batchID
        case .removeBatch(let user, let id):
            return batches[user]?.removeValue(forKey: id) == nil ? 0 : 1
        case .recordAttempt(let user, let id, let failure):
            guard var batch = batches[user]?[id] else { return 0 }
            batch.attempts += 1
            batch.failure = failure
            batches[user]?[id] = batch
            return 1
        case .putOverlay(let user, let path, let fields, let batch):
            overlays[user, default: [:]][path] = Overlay(fields: fields, batch: batch)
        case .removeOverlay(let user, let path):
            return overlays[user]?.removeValue(forKey: path) == nil ? 0 : 1
        case .removeOverlays(let user, let batch):
            let saved = overlays[user, default: [:]].filter { $0.value.batch == batch }
            for path in saved.keys { overlays[user]?[path] = nil }
            return Int64(saved.count)
        case .putTarget(let id, let canonicalID):
            targets[id, default: Target(canonicalID: "")].canonicalID = canonicalID
        case .removeTarget(let id):
            return targets.removeValue(forKey: id) == nil ? 0 : 1
        case .addToTarget(let id, let path):
            guard targets[id] != nil else { return 0 }
            targets[id]?.documents.insert(path)
            return 1
        case .removeFromTarget(let id, let path):
            return targets[id]?.documents.remove(path) == nil ? 0 : 1
        }
        return 0
    }
}
