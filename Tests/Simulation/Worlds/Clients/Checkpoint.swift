import Foundation
import LarderDocumentStore
import LarderModel
import LarderSync

/// A client's disk before a work item, to be restored.
struct Checkpoint {
    private let states: [(record: WriteRecord, state: WriteRecord.State)]
    private let file: String
    private let contents: Data
    private let commitNumber: UInt64

    /// The state of a client's store; nil if it cannot be read.
    init?(of client: Client, _ records: [WriteRecord], _ directory: String) {
        file = directory + "/data.mdb"
        guard let number = try? client.usage().commitNumber,
            let contents = FileManager.default.contents(atPath: file)
        else { return nil }
        states = records.map { ($0, $0.state) }
        self.contents = contents
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

    /// Restores the store's file.
    func restoreFile() throws {
        try contents.write(to: URL(fileURLWithPath: file))
    }
}
