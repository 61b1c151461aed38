import Foundation
import Larder
import Measuring

/// Durable local writes of messages beside those of the document client.
struct TreeWriteOperation {
    let run: Run

    static let name = "tree-write"

    private static let row = Row(
        id: "tree-write", title: "local write of a message, one at a time, on disk",
        unit: .microseconds, limits: [.atMost(1.1, times: .reference)],
        reference: "the same message as a document")

    /// In ten slices, each client writing a tenth in turn, because the disk's speed varies.
    func callAsFunction() async throws {
        guard run.options.includes(Self.name), run.options.systems.contains(.larder) else { return }
        let tree = try TreePeer(directory: run.path("tree-writes"))
        let documents = try LarderPeer(directory: run.path("tree-writes-documents"))
        let size = run.options.isQuick ? 25 : 100
        let slices = run.options.isQuick ? 2 : 10
        // The first slice warms up.
        for slice in 0...slices {
            let numbers = slice * size..<(slice + 1) * size
            let messages = try tree.writes(numbers)
            let sameMessages = try documents.messages(numbers)
            try await run.measure(
                Self.row, count: size * slices, units: size, expected: size, warmsUp: slice == 0,
                rounds: slice == 0 ? 0 : 1, isPrinted: slice == slices, startingAt: slice,
                [
                    (
                        .larder,
                        {
                            try await TreePeer.writeInTurn(messages)
                            return size
                        }
                    ),
                    (
                        .reference,
                        {
                            try await LarderPeer.writeInTurn(sameMessages)
                            return size
                        }
                    ),
                ])
        }
        try await tree.close()
        try await documents.close()
    }
}

extension LarderPeer {
    fileprivate func messages(_ numbers: Range<Int>) throws -> [Write] {
        try numbers.map { number in
            // rooms/r0001/messages/<push id>: documents alternate with collections.
            let parts = TreeWorkload.messagePath(number).split(separator: "/")
            return Write(
                document: db.document("rooms/\(parts[1])/messages/\(parts[2])"),
                fields: try TreeWorkload.message(number))
        }
    }
}
