import Foundation
import LarderBackend
import LarderModel
import LarderWire
import SwiftProtobuf

/// The consistency selector of a request, independent of its message type.
enum ConsistencySelector {
    case newest
    case transaction(Data)
    case newTransaction(Google_Firestore_V1_TransactionOptions)
    case readTime(Google_Protobuf_Timestamp)

    /// Whether the read belongs to a transaction, an open or a new one.
    var isOfTransaction: Bool {
        switch self {
        case .newest, .readTime: false
        case .transaction(let bytes): !bytes.isEmpty
        case .newTransaction: true
        }
    }
}

/// The transaction or time that a call reads at.
struct ReadTime: Sendable {
    var transaction: TransactionID?
    /// The ID of the transaction that the call has begun, for its response.
    var begun = Data()
    /// The time; none for now.
    private(set) var asOf = SnapshotVersion.none

    /// The read time of a message; nil for the current state.
    init(at time: Google_Protobuf_Timestamp?) throws(LarderError) {
        guard let time else { return }
        asOf = try SnapshotVersion(time)
        try Self.checkNotAhead(asOf)
    }

    /// Resolves a request's selector; begins a transaction if it asks for one.
    ///
    /// - Throws: `invalidArgument` for a malformed transaction ID or a time in the future.
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

    /// The read time to report for a state of the database.
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
