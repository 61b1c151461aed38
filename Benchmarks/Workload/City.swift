import Floor
public import LarderDocumentStore
public import LarderModel

/// The documents of the workload, determined by their numbers and identical for all measured
/// systems.
public enum City {
    /// The collection of the documents.
    public static let collection = "cities"

    /// The state in queries, which matches 2 % of the documents.
    public static let wantedState = "CA"

    /// The ID of a document in its collection.
    public static func id(_ number: Int) -> String {
        String(path(number).dropFirst(collection.utf8.count + 1))
    }

    /// The path of a document.
    public static func path(_ number: Int) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { text in
            let size = workload_name(Int64(number), text.baseAddress)
            return String(decoding: UnsafeRawBufferPointer(text).prefix(size), as: UTF8.self)
        }
    }

    /// The fields of a document.
    public static func fields(_ number: Int) throws(LarderError) -> MapValue {
        let record = workload_raw_record(Int64(number))
        var reader = RawRecordReader(
            UnsafeRawBufferPointer(start: record.data, count: record.size))
        return try reader.document()
    }

    /// A document as JSON text, what a developer stores in SQLite.
    public static func json(_ number: Int) -> String {
        let text = workload_json(Int64(number))
        return String(
            decoding: UnsafeRawBufferPointer(start: text.data, count: text.size), as: UTF8.self)
    }

    /// The number of documents below a count in the wanted state.
    public static func matchCount(of count: Int) -> Int { Int(workload_matches(Int64(count))) }

    /// Uniformly random numbers below a count, the same in each run.
    public static func randomNumbers(below count: Int, _ wanted: Int) -> [Int64] {
        [Int64](unsafeUninitializedCapacity: wanted) { buffer, size in
            workload_random(Int64(count), buffer.baseAddress, wanted)
            size = wanted
        }
    }

    /// Documents ready to be stored.
    public static func records(
        _ range: Range<Int>
    ) throws(LarderError) -> [(path: DocumentPath, record: Record)] {
        let builder = try RecordBuilder()
        var records: [(path: DocumentPath, record: Record)] = []
        for number in range {
            records.append(
                (try DocumentPath(path(number)), try builder.encode(try fields(number))))
        }
        return records
    }

    /// Stores documents in one commit, as a server's: nothing is pending.
    public static func put(
        _ documents: [(path: DocumentPath, record: Record)], in store: Store
    ) throws(LarderError) {
        let version = SnapshotVersion(Timestamp(seconds: 1_700_000_000, nanoseconds: 0))
        try store.write { transaction throws(LarderError) in
            for (path, record) in documents {
                try transaction.put(record, at: path, version: version)
            }
        }
    }

    /// Stores the first documents, 500 per commit.
    public static func fill(_ store: Store, count: Int) throws(LarderError) {
        for start in stride(from: 0, to: count, by: 500) {
            try put(try records(start..<min(start + 500, count)), in: store)
        }
    }
}
