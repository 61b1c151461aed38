import Foundation
import LarderBackend
import LarderModel
import LarderWire
import SwiftProtobuf

/// As of when a request wants its answer, as its message says it.
enum ConsistencySelector {
    case newest
    case transaction(Data)
    case newTransaction(Google_Firestore_V1_TransactionOptions)
    case readTime(Google_Protobuf_Timestamp)

    /// Whether a transaction reads, one that is open or is to be opened.
    var isOfTransaction: Bool {
        switch self {
        case .newest, .readTime: false
        case .transaction(let bytes): !bytes.isEmpty
        case .newTransaction: true
        }
    }
}

/// As of when a call reads.
struct ReadTime: Sendable {
    /// The transaction that it belongs to, if any.
    var transaction: TransactionID?
    /// The transaction that it has opened, to be told to the client.
    var begun = Data()
    /// The time; none for now.
    private(set) var asOf = SnapshotVersion.none

    /// Of a time; none for now.
    init(at time: Google_Protobuf_Timestamp?) throws(LarderError) {
        guard let time else { return }
        asOf = try SnapshotVersion(time)
        try Self.checkNotAhead(asOf)
    }

    /// Reads what a request says; opens a transaction where it asks for one.
    ///
    /// - Throws: `invalidArgument` for bytes that name no transaction and for a time to come.
    init(_ consistency: ConsistencySelector, _ database: DatabaseContext, _ coder: MessageCoder)
        throws(LarderError)
    {
        switch consistency {
        case .newest: return
        case .transaction(let bytes):
            if !bytes.isEmpty { transaction = try database.transaction(bytes) }
        case .newTransaction(let options):
            let id = try database.begin(options, coder)
            transaction = id
            begun = Data(id.bytes)
        case .readTime(let time):
            asOf = try SnapshotVersion(time)
            try Self.checkNotAhead(asOf)
        }
    }

    /// When an answer of a commit is read, as the client is told.
    func readTime(_ version: SnapshotVersion) -> SnapshotVersion {
        asOf.isNone ? version : asOf
    }

    /// Throws `invalidArgument` for a time that has not come.
    static func checkNotAhead(_ version: SnapshotVersion) throws(LarderError) {
        guard version <= SnapshotVersion(.now()) else {
            throw LarderError(.invalidArgument, "the read time \(version) is in the future")
        }
    }
}

extension ConsistencySelector {
    init(_ selector: Google_Firestore_V1_GetDocumentRequest.OneOf_ConsistencySelector?) {
        switch selector {
        case nil: self = .newest
        case .transaction(let bytes): self = .transaction(bytes)
        case .readTime(let time): self = .readTime(time)
        }
    }

    init(_ selector: Google_Firestore_V1_ListDocumentsRequest.OneOf_ConsistencySelector?) {
        switch selector {
        case nil: self = .newest
        case .transaction(let bytes): self = .transaction(bytes)
        case .readTime(let time): self = .readTime(time)
        }
    }

    init(_ selector: Google_Firestore_V1_BatchGetDocumentsRequest.OneOf_ConsistencySelector?) {
        switch selector {
        case nil: self = .newest
        case .transaction(let bytes): self = .transaction(bytes)
        case .newTransaction(let options): self = .newTransaction(options)
        case .readTime(let time): self = .readTime(time)
        }
    }

    init(_ selector: Google_Firestore_V1_RunQueryRequest.OneOf_ConsistencySelector?) {
        switch selector {
        case nil: self = .newest
        case .transaction(let bytes): self = .transaction(bytes)
        case .newTransaction(let options): self = .newTransaction(options)
        case .readTime(let time): self = .readTime(time)
        }
    }

    init(_ selector: Google_Firestore_V1_RunAggregationQueryRequest.OneOf_ConsistencySelector?) {
        switch selector {
        case nil: self = .newest
        case .transaction(let bytes): self = .transaction(bytes)
        case .newTransaction(let options): self = .newTransaction(options)
        case .readTime(let time): self = .readTime(time)
        }
    }
}
