import GRPCCore
import InMemoryTracing
import LarderHTTP
import LarderModel
import LarderWire
import NIOHPACK
import Testing
import Tracing

@testable import LarderServer

@Suite("Server: spans of calls")
struct TraceTests {
    private typealias Method = Google_Firestore_V1_Firestore.Method

    private let tracer = InMemoryTracer()
    private let test: ServiceUnderTest

    init() {
        test = ServiceUnderTest(tracer: tracer)
    }

    /// Runs work as a call.
    private func watch<R>(
        _ method: MethodDescriptor, _ metadata: Metadata = [:], _ body: () async throws -> R
    ) async throws(RPCError) -> R {
        let call = test.service.monitor.begin(method, metadata)
        do {
            let result = try await call.run(body)
            call.succeeded()
            return result
        } catch {
            throw call.failed(error)
        }
    }

    private func get(_ name: String) async throws {
        var request = Google_Firestore_V1_GetDocumentRequest()
        request.name = name
        let read = try #require(test.service.getDocument(request))
        _ = try await watch(Method.GetDocument.descriptor) { try await test.service.read(read) }
    }

    private func attribute(_ span: FinishedInMemorySpan, _ name: String) -> String? {
        switch span.attributes.get(name)?.toSpanAttribute() {
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .int32(let number): "\(number)"
        case .some(let other): "\(other)"
        case nil: nil
        }
    }

    @Test(
        "That a client has left is no fault of the server's",
        arguments: [
            CancellationError(), RPCError.clientHasLeft, LarderError.clientHasLeft,
        ] as [any Error])
    func left(error: any Error) async throws {
        let status = await #expect(throws: RPCError.self) {
            try await watch(Method.RunQuery.descriptor) { throw error }
        }
        #expect(status?.code == .cancelled)
        #expect(tracer.finishedSpans.first?.errors.isEmpty == true)
    }

    @Test("Each call is one span, with its method, database and status")
    func served() async throws {
        try await test.fill("c", 0..<1)
        try await get("\(test.root)/c/0000")
        let span = try #require(tracer.finishedSpans.first)
        #expect(tracer.finishedSpans.count == 1 && tracer.activeSpans.isEmpty)
        #expect(span.operationName == "google.firestore.v1.Firestore/GetDocument")
        #expect(span.kind == .server)
        #expect(attribute(span, "rpc.system") == "grpc")
        #expect(attribute(span, "rpc.service") == "google.firestore.v1.Firestore")
        #expect(attribute(span, "rpc.method") == "GetDocument")
        #expect(attribute(span, "rpc.grpc.status_code") == "0")
        #expect(attribute(span, "db.namespace") == "projects/p/databases/(default)")
        #expect(span.errors.isEmpty && span.status == nil)
    }

    @Test("The span of a refused call has its status, without an error")
    func refused() async throws {
        await #expect(throws: RPCError.self) { try await get("\(test.root)/c/none") }
        await #expect(throws: RPCError.self) { try await get("nothing") }
        let spans = tracer.finishedSpans
        #expect(spans.map { attribute($0, "rpc.grpc.status_code") } == ["5", "3"])
        #expect(spans.map { attribute($0, "db.namespace") != nil } == [true, false])
        #expect(spans.allSatisfy { $0.errors.isEmpty && $0.status == nil })
    }

    @Test("The span of a failed call has an error")
    func failed() async throws {
        struct Failure: Error {}
        await #expect(throws: RPCError.self) {
            try await watch(Method.Commit.descriptor) { throw Failure() }
        }
        let span = try #require(tracer.finishedSpans.first)
        #expect(attribute(span, "rpc.grpc.status_code") == "13")
        #expect(span.status?.code == .error && span.errors.count == 1)
    }

    @Test("A call goes on with the trace of its caller")
    func callers() async throws {
        let metadata: Metadata = [
            InMemoryTracer.traceIDKey: "t", InMemoryTracer.spanIDKey: "s",
        ]
        for headers in [metadata, [:]] {
            try await watch(Method.Commit.descriptor, headers) {}
        }
        let spans = tracer.finishedSpans
        #expect(spans.first?.traceID == "t")
        #expect(spans.map(\.parentSpanID) == ["s", nil])
    }

    @Test(
        "So does one that is answered from its connection, and is one span",
        arguments: [true, false])
    func shortCallers(isAtOnce: Bool) async throws {
        let headers: HPACKHeaders = [
            "other-bin": "AQI=", InMemoryTracer.traceIDKey: "t", InMemoryTracer.spanIDKey: "s",
        ]
        let id = DatabaseID(project: "p")
        let monitor = test.service.monitor
        let call = RequestMethod(descriptor: Method.Commit.descriptor, monitor: monitor) { _ in
            RequestMethod.Work { tell in
                monitor.note(id)
                if isAtOnce { tell { [[7]] } }
                return isAtOnce
            } async: {
                monitor.note(id)
                return .messages([[8]])
            }
        }
        let client = try await TestConnection([.request(call)])
        try await client.open("Commit", headers)
        try await client.send(TestConnection.framed([]), isLast: true)
        #expect(try await client.answer().messages == [isAtOnce ? [7] : [8]])
        let span = try #require(tracer.finishedSpans.first)
        #expect(tracer.finishedSpans.count == 1 && tracer.activeSpans.isEmpty)
        #expect(span.traceID == "t" && span.parentSpanID == "s")
        #expect(attribute(span, "db.namespace") == "\(id)")
    }
}
