import Foundation
import GRPCCore
import LarderCore
import LarderHTTP
import LarderWire
import SwiftProtobuf

/// An RPC over HTTP: how a request becomes its message, and responses become JSON.
struct JSONRoute: Sendable {
    let method: MethodDescriptor
    /// True if there may be several responses, sent as a JSON array.
    let isStream: Bool
    /// The encoded message of a request.
    ///
    /// Throws `invalidArgument` for a malformed body and for query parameters that the RPC does
    /// not have.
    let encode: @Sendable (HTTPRequest, JSONPath) throws(RPCError) -> [UInt8]
    /// The JSON of an encoded response.
    let decode: @Sendable ([UInt8]) throws -> [UInt8]

    /// - Parameters:
    ///   - body: reads the body of a request into its message; none is read by default.
    ///   - parameters: the parameters of the query, by name.
    ///   - bind: sets the fields that are in the path.
    init<Request: Message, Output: Message>(
        _ method: MethodDescriptor, _: Request.Type, _: Output.Type, isStream: Bool = false,
        body: @escaping JSONBody<Request> = { _, _ in }, parameters: JSONParameters<Request> = [:],
        _ bind: @escaping @Sendable (inout Request, JSONPath) -> Void
    ) {
        Google_Rpc_Status.registerDetails()
        self.method = method
        self.isStream = isStream
        encode = { (http, path) throws(RPCError) in
            var request = Request()
            if !http.body.isEmpty {
                do {
                    try body(&request, http.body)
                } catch let error as JSONError {
                    let (line, column) = error.place(in: http.body)
                    throw RPCError(
                        code: .invalidArgument,
                        message: "Invalid JSON payload received: \(error.reason) in line \(line), "
                            + "column \(column)")
                } catch {
                    throw RPCError(
                        code: .invalidArgument, message: "Invalid JSON payload received: \(error)")
                }
            }
            guard let query = JSONQuery(http.query) else {
                throw RPCError(
                    code: .invalidArgument, message: "the query is not percent-encoded UTF-8")
            }
            for (name, value) in query.parameters {
                guard let set = parameters[name] else {
                    throw RPCError(
                        code: .invalidArgument,
                        message: "Unknown name \"\(name)\": cannot bind query parameter.")
                }
                guard set(&request, value) else {
                    throw RPCError(
                        code: .invalidArgument,
                        message: "Invalid value at '\(name)': \"\(value.prefix(200))\"")
                }
            }
            bind(&request, path)
            do {
                return try request.serializedBytes()
            } catch {
                throw RPCError(code: .invalidArgument, message: "the request is malformed")
            }
        }
        decode = { try JSONFields.objects(of: try Output(serializedBytes: $0).jsonUTF8Bytes()) }
    }
}

/// Reads the body of a request into its message.
typealias JSONBody<Request> = @Sendable (inout Request, [UInt8]) throws -> Void

/// Parameters of a query by name; each returns whether its value is well-formed.
typealias JSONParameters<Request> = [String: @Sendable (inout Request, String) -> Bool]

/// The values of parameters.
enum JSONParameter {
    typealias Set<Request, Value> = @Sendable (inout Request, Value) -> Void
    typealias SetText<Request> = @Sendable (inout Request, String) -> Bool

    static func text<R>(_ set: @escaping Set<R, String>) -> SetText<R> { parsed(set) { $0 } }

    static func flag<R>(_ set: @escaping Set<R, Bool>) -> SetText<R> { parsed(set) { Bool($0) } }

    static func number<R>(_ set: @escaping Set<R, Int32>) -> SetText<R> {
        parsed(set) { Int32($0) }
    }

    /// Bytes in base64, of either alphabet.
    static func bytes<R>(_ set: @escaping Set<R, Data>) -> SetText<R> {
        parsed(set) { text in
            // A plus sign in a query is a space.
            let plain = text.map { ["-": "+", " ": "+", "_": "/"][$0] ?? $0 }
            let padding = String(repeating: "=", count: (4 - plain.count % 4) % 4)
            return Data(base64Encoded: String(plain) + padding)
        }
    }

    /// A time of RFC 3339.
    static func time<R>(_ set: @escaping Set<R, Google_Protobuf_Timestamp>) -> SetText<R> {
        parsed(set) { text in
            var json: [UInt8] = []
            JSONWriter.append(text, to: &json)
            return try? Google_Protobuf_Timestamp(firestoreJSON: json)
        }
    }

    private static func parsed<R, Value>(
        _ set: @escaping Set<R, Value>, _ parse: @escaping @Sendable (String) -> Value?
    ) -> SetText<R> {
        { request, text in
            guard let value = parse(text) else { return false }
            set(&request, value)
            return true
        }
    }
}
