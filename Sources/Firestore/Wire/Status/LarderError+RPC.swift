package import GRPCCore
package import LarderModel
import SwiftProtobuf

private let detailsKey = "grpc-status-details-bin"

extension RPCError {
    /// How a call ends with an error.
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
    /// What the end of a call says.
    ///
    /// Details in its metadata count where they are of the same code.
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
