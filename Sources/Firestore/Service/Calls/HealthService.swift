import GRPCCore
import LarderHTTP
import SwiftProtobuf

/// `grpc.health.v1.Health/Check`, which tells load balancers whether the server is serving.
///
/// `Watch` is unimplemented, which its clients take as serving.
struct HealthService: Sendable {
    /// grpc.health.v1.HealthCheckResponse.ServingStatus.
    private enum Status: Int32 {
        case serving = 1
        case notServing = 2
    }

    /// The message `HealthCheckRequest`, whose only field is a string with the number 1.
    private typealias Request = Google_Protobuf_StringValue
    /// The message `HealthCheckResponse`, whose only field is an enum with the number 1.
    private typealias Response = Google_Protobuf_Int32Value

    static let check = MethodDescriptor(
        fullyQualifiedService: "grpc.health.v1.Health", method: "Check")
    static let path = "/\(check.fullyQualifiedMethod)"
    /// The services of the server; empty for the server as a whole.
    private static let services: Set<String> = ["", "google.firestore.v1.Firestore"]

    let monitor: CallMonitor
    let isServing: @Sendable () -> Bool

    /// The method, which is served without a token: probes cannot send one.
    var method: CallMethod {
        .request(
            RequestMethod(descriptor: Self.check, monitor: monitor) { [self] bytes in
                RequestMethod.Work(async: { .messages([try response(to: bytes)]) })
            })
    }

    /// - Throws: `notFound` for a service that the server does not have.
    func response(to request: [UInt8]) throws -> [UInt8] {
        let service: String
        do {
            service = try Request(serializedBytes: request).value
        } catch {
            throw RPCError(code: .invalidArgument, message: "the request is malformed")
        }
        guard Self.services.contains(service) else {
            throw RPCError(code: .notFound, message: "unknown service '\(service.prefix(200))'")
        }
        let status = isServing() ? Status.serving : .notServing
        return try Response(status.rawValue).serializedBytes()
    }
}
