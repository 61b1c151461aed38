import Foundation
package import LarderModel

/// What a transaction is opened for.
package enum TransactionMode: Sendable, Equatable {
    /// Reading and writing; which earlier attempt it repeats, empty for none.
    case readWrite(retrying: [UInt8])
    /// Reading alone; as of when, none for now.
    case readOnly(at: SnapshotVersion)
}

extension MessageCoder {
    /// The message of what a transaction is opened for.
    package func encode(_ mode: TransactionMode) -> Google_Firestore_V1_TransactionOptions {
        var message = Google_Firestore_V1_TransactionOptions()
        switch mode {
        case .readWrite(let transaction):
            message.readWrite.retryTransaction = .init(transaction)
        case .readOnly(let version):
            message.readOnly = .init()
            if !version.isNone { message.readOnly.readTime = .init(version) }
        }
        return message
    }

    /// What a transaction is opened for: reading and writing unless the message says otherwise.
    ///
    /// - Throws: `invalidArgument` for a time out of range.
    package func decode(_ options: Google_Firestore_V1_TransactionOptions)
        throws(LarderError) -> TransactionMode
    {
        switch options.mode {
        case nil: return .readWrite(retrying: [])
        case .readWrite(let mode): return .readWrite(retrying: [UInt8](mode.retryTransaction))
        case .readOnly(let mode):
            guard case .readTime(let time)? = mode.consistencySelector else {
                return .readOnly(at: .none)
            }
            return .readOnly(at: try SnapshotVersion(time))
        }
    }
}
