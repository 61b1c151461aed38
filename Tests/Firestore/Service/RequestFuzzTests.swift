import GRPCCore
import LarderCore
import LarderHTTP
import LarderModel
import LarderTestSupport
import LarderWire
import NIOHPACK
import SwiftProtobuf
import Testing

@testable import LarderServer

/// Mutated requests of every RPC, as protobuf and as JSON.
@Suite("Server: mutated requests")
struct RequestFuzzTests {
    private static func service() async throws -> ServiceUnderTest {
        let test = ServiceUnderTest { limits in
            limits.databases = 4
            limits.listPageBytes = 300
        }
        try await test.fill("c", 0..<20)
        return test
    }

    @Test("A mutated request is served or refused, and never fails by a fault of the server")
    func requests() async throws {
        let test = try await Self.service()
        let samples = try RequestSamples(root: test.root).requests
        let methods = test.service.methods
        let names = Set(methods.map(\.descriptor.method))
        #expect(names == Set(samples.map(\.method)))
        try await FuzzRun("requests of RPCs", count: 3_000)() { random in
            let sample = random.pick(samples)
            let bytes = ProtobufFields.mutated(sample.bytes, &random)
            guard let method = methods.first(where: { $0.descriptor.method == sample.method })
            else { return }
            switch method {
            case .request(let method): try await Self.serve(bytes, by: method)
            case .stream: try await Self.stream(bytes, sample.method, methods)
            }
        }
        #expect(await test.databases.close().isEmpty)
    }

    private static func serve(_ bytes: [UInt8], by method: RequestMethod) async throws {
        let call = method.monitor.begin(method.descriptor, [:])
        do {
            let work = try method.work(bytes)
            let reply = Awaited<Result<[[UInt8]], any Error>?>(nil)
            let isBegun = try work.inline { answer in
                let result = Result { try answer() }
                reply.change { $0 = result }
            }
            if isBegun {
                await reply.wait { $0 != nil }
                _ = try reply.value?.get()
            } else if case .pages(let pages) = try await work.async() {
                defer { pages.close() }
                for _ in 0..<8 where try await pages.page().isLast { break }
            }
            call.succeeded()
        } catch {
            try check(call.failed(error))
        }
    }

    private static func stream(
        _ bytes: [UInt8], _ method: String, _ methods: [CallMethod]
    ) async throws {
        try await withDeadline(.seconds(60)) {
            let connection = try await TestConnection(methods)
            try await connection.open(method)
            try await connection.send(TestConnection.framed(bytes), isLast: true)
            let ending = try await connection.answer().ending
            let code = ending.first(name: "grpc-status").flatMap { Int($0) }
                .flatMap(Status.Code.init(rawValue:))
            try FuzzFinding.require(code != nil, "no status: \(ending)")
            if let code = code.flatMap(RPCError.Code.init) {
                try check(
                    RPCError(code: code, message: ending.first(name: "grpc-message") ?? ""))
            }
        }
    }

    private static func check(_ error: RPCError) throws {
        let faults: [RPCError.Code] = [.internalError, .unknown, .dataLoss]
        try FuzzFinding.require(
            !faults.contains(error.code), "\(error.code): \(error.message)")
    }

    @Test(
        "A mutated request as JSON is served or refused, and never fails by a fault of the server")
    func json() async throws {
        let test = try await Self.service()
        let api = JSONAPI(calls: EncodedCalls(test.service))
        try await FuzzRun("requests as JSON", count: 2_000)() { random in
            let (method, path, body) = random.pick(RequestSamples.json)
            var target = Array("/v1/\(test.root)\(path)".utf8)
            var bytes = Array(body.utf8)
            if random.oneIn(3) { random.damage(&target) } else { random.damage(&bytes) }
            let request = HTTPRequest(
                method: random.oneIn(10) ? random.pick(["GET", "POST", "PUT", "DELETE"]) : method,
                target: String(decoding: target, as: UTF8.self), body: bytes)
            let reply = CollectedReply()
            await api.respond(to: request, reply)
            try FuzzFinding.require(
                reply.isWhole && reply.status.map { $0 < 500 || $0 == 501 || $0 == 503 } == true,
                "\(request.method) \(request.target): \(reply.status ?? 0) \(reply.text)")
        }
        #expect(await test.databases.close().isEmpty)
    }
}
