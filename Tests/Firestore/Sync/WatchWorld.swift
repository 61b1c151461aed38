import HashTreeCollections
import LarderModel
import LarderQuery
import LarderRemote
import LarderSync

/// The owner of an aggregator: the targets that it watches, and what it knows of each.
struct WatchWorld: WatchKnowledge {
    var targets: [Int32: TargetData] = [:]
    var keys: [Int32: TreeSet<DocumentPath>] = [:]

    func target(_ id: Int32) -> TargetData? { targets[id] }

    func remoteKeys(of id: Int32) -> TreeSet<DocumentPath> { keys[id] ?? [] }

    /// Watches a query for a collection, or a document where the path is of one.
    mutating func watch(
        _ id: Int32, _ path: String, for purpose: WatchTarget.Purpose = .listen,
        knowing known: [String] = []
    ) throws {
        let source: Query.Source =
            if let document = try? DocumentPath(path) {
                .document(document)
            } else {
                .collection(try CollectionPath(path))
            }
        targets[id] = TargetData(id: id, target: Query(source).target, purpose: purpose)
        keys[id] = TreeSet(try known.map { (path) in try DocumentPath(path) })
    }

    /// Takes an event, as views do.
    mutating func apply(_ event: RemoteEvent) {
        for (id, change) in event.targets {
            let kept = remoteKeys(of: id).subtracting(TreeSet(change.removed))
            keys[id] = kept.union(TreeSet(change.added)).union(TreeSet(change.modified))
        }
    }
}

extension SnapshotVersion {
    /// The version of so many microseconds.
    static func test(_ microseconds: Int64) -> SnapshotVersion {
        SnapshotVersion(
            Timestamp(
                seconds: microseconds / 1_000_000,
                nanoseconds: Int32(microseconds % 1_000_000) * 1000))
    }
}

extension DocumentReading {
    /// A document with a field that is its version.
    static func found(_ path: String, _ version: Int64) throws -> DocumentReading {
        DocumentReading(
            path: try DocumentPath(path),
            contents: .found(try Record(["v": .integer(version)]), createTime: nil),
            version: .test(version))
    }

    /// A document that does not exist.
    static func absent(_ path: String, _ version: Int64) throws -> DocumentReading {
        DocumentReading(path: try DocumentPath(path), contents: .absent, version: .test(version))
    }
}

/// Paths of documents.
func paths(_ texts: String...) throws -> Set<DocumentPath> {
    Set(try texts.map { (text) in try DocumentPath(text) })
}
