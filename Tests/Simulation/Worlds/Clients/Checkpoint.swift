import Foundation
import LarderDocumentStore
import LarderModel
import LarderSync

/// What a client had on disk before a piece of work, to go back to.
struct Checkpoint {
    private let states: [(record: WriteRecord, state: WriteRecord.State)]
    private let file: String
    private let contents: Data
    private let commitNumber: UInt64

    /// The state of a client's store; nil where it cannot be read.
    init?(of client: Client, _ records: [WriteRecord], _ directory: String) {
        file = directory + "/data.mdb"
        guard let number = try? client.usage().commitNumber,
            let contents = FileManager.default.contents(atPath: file)
        else { return nil }
        states = records.map { ($0, $0.state) }
        self.contents = contents
        commitNumber = number
    }

    /// Whether the client has made so many commits since.
    func isBehind(_ client: Client, by count: UInt64) -> Bool {
        (try? client.usage().commitNumber) == commitNumber + count
    }

    /// Makes the records of writes what they were.
    func restore(_ records: inout [WriteRecord]) {
        records = states.map(\.record)
        for (record, state) in states { record.state = state }
    }

    /// Makes the store's file what it was.
    func restoreFile() throws {
        try contents.write(to: URL(fileURLWithPath: file))
    }
}
