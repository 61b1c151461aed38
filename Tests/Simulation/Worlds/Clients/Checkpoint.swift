import Foundation
import LarderDocumentStore
import LarderModel
import LarderSync

/// A client's disk before a work item, to be restored.
struct Checkpoint {
    private let states: [(record: WriteRecord, state: WriteRecord.State)]
    /// The data file and its write-ahead log, with what they held.
    private let files: [(path: String, contents: Data)]
    private let commitNumber: UInt64

    /// The state of a client's store; nil if it cannot be read.
    init?(of client: Client, _ records: [WriteRecord], _ directory: String) {
        let files = ["data.mdb", "data.wal"].compactMap { name in
            let path = directory + "/" + name
            return FileManager.default.contents(atPath: path).map { (path: path, contents: $0) }
        }
        guard let number = try? client.usage().commitNumber, files.count == 2 else { return nil }
        states = records.map { ($0, $0.state) }
        self.files = files
        commitNumber = number
    }

    /// True if the client has made this number of commits since.
    func isBehind(_ client: Client, by count: UInt64) -> Bool {
        (try? client.usage().commitNumber) == commitNumber + count
    }

    /// Restores the records of writes.
    func restore(_ records: inout [WriteRecord]) {
        records = states.map(\.record)
        for (record, state) in states { record.state = state }
    }

    /// Puts files with the former contents in place of the store's.
    ///
    /// What the process that ended has open stays as it is: a thread of it may be writing a
    /// checkpoint, which ends with a real process.
    func restoreFile() throws {
        for (path, contents) in files {
            try contents.write(to: URL(fileURLWithPath: path), options: .atomic)
        }
    }
}
