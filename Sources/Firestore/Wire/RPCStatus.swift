package import GRPCCore
package import LarderModel
import SwiftProtobuf

private let detailsKey = "grpc-status-details-bin"

extension RPCError {
    package init(_ error: LarderError) {
        let status = Google_Rpc_Status(error)
        var metadata = Metadata()
        if !status.details.isEmpty, let bytes: [UInt8] = try? status.serializedBytes() {
            metadata.addBinary(bytes, forKey: detailsKey)
        }
        self.init(
            code: Status.Code(rawValue: Int(status.code)).flatMap(Code.init) ?? .unknown,
            message: status.message, metadata: metadata)
    }
}

extension LarderError {
    /// The error of a status; details of another code are ignored.
    package convenience init(_ error: RPCError) {
        let details = error.metadata[binaryValues: detailsKey].first { _ in true }
        let status = details.flatMap { try? Google_Rpc_Status(serializedBytes: $0) }
        let code = Code(known: error.code.rawValue)
        let detailed = status.flatMap { LarderError($0) }
        self.init(
            code, error.message,
            condition: detailed?.kind == code ? detailed?.condition ?? .none : .none, cause: error)
    }
}

// MARK: - Messages

/// Errors are encoded as a code, a message and, for conditions of the storage core, a
/// `google.rpc.ErrorInfo`.
extension Google_Rpc_Status {
    fileprivate static let domain = "larder"
    fileprivate static let conditionKey = "condition"
    /// Messages are sent in headers, which are limited.
    private static let maxMessageBytes = 1024

    package static let ok = Google_Rpc_Status()

    /// Makes the types of details known to SwiftProtobuf, which cannot encode them as JSON
    /// otherwise.
    package static func registerDetails() {
        Google_Protobuf_Any.register(messageType: Google_Rpc_ErrorInfo.self)
    }

    package init(_ error: LarderError) {
        self.init()
        code = Int32(LarderError.Code(known: error.kind.rawValue).rawValue)
        message = error.message.prefix(utf8Bytes: Self.maxMessageBytes)
        // `invalidArgument` adds nothing to its code.
        guard error.condition != .none, error.condition != .invalidArgument else { return }
        var info = Google_Rpc_ErrorInfo()
        info.reason = error.condition.description
        info.domain = Self.domain
        info.metadata = [Self.conditionKey: "\(error.condition.rawValue)"]
        if let detail = try? Google_Protobuf_Any(message: info) { details = [detail] }
    }
}

extension LarderError {
    /// The error of a status; nil for a success.
    package convenience init?(_ status: Google_Rpc_Status) {
        guard status.code != 0 else { return nil }
        self.init(
            Code(known: Int(status.code)), status.message, condition: Condition(status.details))
    }
}

extension LarderError.Code {
    /// A code by its number; unknown for one that gRPC does not have.
    init(known number: Int) {
        self = (1...16).contains(number) ? Self(rawValue: number) : .unknown
    }
}

extension LarderError.Condition {
    /// The condition in the details of another Larder's error.
    fileprivate init(_ details: [Google_Protobuf_Any]) {
        for detail in details where detail.isA(Google_Rpc_ErrorInfo.self) {
            guard let info = try? Google_Rpc_ErrorInfo(unpackingAny: detail),
                info.domain == Google_Rpc_Status.domain,
                let text = info.metadata[Google_Rpc_Status.conditionKey],
                let number = Int32(text)
            else { continue }
            self.init(rawValue: number)
            return
        }
        self = .none
    }
}

extension String {
    /// The longest prefix of whole characters within a limit.
    fileprivate func prefix(utf8Bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
