/// The name of a write, by which a server of ours recognizes one that it has made already.
package struct WriteToken: Hashable, Sendable {
    /// The longest name of a client or a write, in bytes.
    package static let maxBytes = 64

    /// The client's name, which it keeps when it is restarted.
    package let client: String
    /// The write's name among the client's.
    package let write: String
    /// Earlier writes of the client whose answers have arrived since its last message: they are not
    /// sent again.
    package let answered: [String]
    /// The name of the sending process, in the first write on a write stream of documents.
    package let writer: String?
    /// Earlier processes (documents) or sessions (trees) of the client.
    ///
    /// Their unanswered writes are sent again from here; the server refuses what still arrives from
    /// them.
    package let former: [String]

    /// The maximum count of ``former``.
    package static let maxFormer = 16

    /// The name of a write that was numbered before its store had runs, see `WriteRuns`.
    package static func name(ofWrite number: Int64, at time: Timestamp) -> String {
        "\(number)-\(time.seconds)-\(time.nanoseconds)"
    }

    package init(
        client: String, write: String, answered: [String] = [], writer: String? = nil,
        former: [String] = []
    ) {
        self.client = client
        self.write = write
        self.answered = answered
        self.writer = writer
        self.former = former
    }

    /// A name of a client, a process or a run that no other one has.
    package static func newName() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36) + "-"
            + String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// True if the names are short and have letters, digits and hyphens only, and ``former`` is not
    /// too long.
    package var isValid: Bool {
        former.count <= Self.maxFormer
            && [[client, write], answered, writer.map { [$0] } ?? [], former].joined()
                .allSatisfy(Self.isValid)
    }

    private static func isValid(_ name: String) -> Bool {
        (1...maxBytes).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
