package import LarderModel
import SwiftProtobuf

/// Errors travel as a code, a message and, where the storage core met something more precise, a
/// `google.rpc.ErrorInfo` with its number.
extension Google_Rpc_Status {
    /// Who gives the reasons of errors their meaning.
    fileprivate static let domain = "larder"
    /// The entry with the number of a condition.
    fileprivate static let conditionKey = "condition"
    /// Messages travel in headers, which are small.
    private static let maxMessageBytes = 1024

    /// The status of a success.
    package static let ok = Google_Rpc_Status()

    /// The status of an error.
    package init(_ error: LarderError) {
        self.init()
        code = Int32(LarderError.Code(known: error.kind.rawValue).rawValue)
        message = error.message.prefix(utf8Bytes: Self.maxMessageBytes)
        // An invalid argument says no more than its code.
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
    /// The condition that the details of an error from another Larder have.
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
    /// The text, cut at a character so that no more than so many bytes are left.
    fileprivate func prefix(utf8Bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
