import LarderDocumentStore
import LarderModel

/// Stores a document in memory and reads it back, with nothing but the public API.
@main
struct StorageConsumer {
    static func main() throws {
        let store = try Store(.inMemory())
        let path = try DocumentPath("cities/NYC")
        let written = try Record(["name": "New York", "population": 8_804_190])
        try store.write { (txn) throws(LarderError) in
            let version = SnapshotVersion(Timestamp(seconds: 1, nanoseconds: 0))
            try txn.put(written, at: path, version: version)
        }
        let read = try store.read { (txn) throws(LarderError) in try txn.document(at: path) }
        guard let read, read.record == written, read.fields["population"] == 8_804_190 else {
            fatalError("read back \(String(describing: read)), wrote \(written)")
        }
        try store.close()
        print("\(read.path): stored and read back, \(read.storedBytes) bytes")
    }
}
