import GRPCCore
import LarderModel
import LarderWire
import SwiftProtobuf
import Testing

@Suite("Errors on the wire")
struct RPCStatusTests {
    @Test("Every code keeps its number and its message", arguments: 1...16)
    func codes(_ number: Int) throws {
        let error = LarderError(LarderError.Code(rawValue: number), "what happened: é")
        let status = try sent(Google_Rpc_Status(error))
        #expect(status.code == number)
        let back = try #require(LarderError(status))
        #expect(back.kind == error.kind && back.message == error.message)
        let rpc = RPCError(error)
        #expect(rpc.code.rawValue == number && rpc.message == error.message)
        let received = LarderError(rpc)
        #expect(received.kind == error.kind && received.message == error.message)
    }

    @Test("A success is not an error; codes that gRPC lacks become unknown")
    func others() throws {
        #expect(LarderError(Google_Rpc_Status.ok) == nil)
        for number in [-1, 17, 1000] as [Int32] {
            var status = Google_Rpc_Status()
            status.code = number
            #expect(LarderError(status)?.kind == .unknown)
            let error = LarderError(LarderError.Code(rawValue: Int(number)), "")
            #expect(Google_Rpc_Status(error).code == 2)
            #expect(RPCError(error).code == .unknown)
        }
    }

    @Test("Conditions of the storage core are transmitted")
    func conditions() throws {
        let error = LarderError(.resourceExhausted, "full", condition: .noSpace)
        let status = try sent(Google_Rpc_Status(error))
        #expect(status.details.count == 1)
        #expect(LarderError(status)?.condition == .noSpace)
        #expect(LarderError(RPCError(error)).condition == .noSpace)
        for condition in [LarderError.Condition.none, .invalidArgument] {
            let plain = LarderError(.invalidArgument, "bad", condition: condition)
            #expect(Google_Rpc_Status(plain).details.isEmpty)
            #expect(RPCError(plain).metadata.isEmpty)
        }
    }

    @Test("Details that are malformed, foreign or of another code do not count")
    func foreignDetails() throws {
        var status = Google_Rpc_Status(LarderError(.notFound, "", condition: .noStore))
        status.details[0].value.append(contentsOf: [0xff, 0xff])
        #expect(LarderError(status)?.condition == LarderError.Condition.none)
        status.details[0].typeURL = "type.googleapis.com/else"
        #expect(LarderError(status)?.condition == LarderError.Condition.none)
        var rpc = RPCError(LarderError(.notFound, "", condition: .noStore))
        rpc.code = .unavailable
        #expect(LarderError(rpc).kind == .unavailable)
        #expect(LarderError(rpc).condition == .none)
        var metadata = Metadata()
        metadata.addBinary([0xff], forKey: "grpc-status-details-bin")
        let broken = RPCError(code: .aborted, message: "m", metadata: metadata)
        #expect(LarderError(broken).condition == .none)
        #expect(LarderError(broken).kind == .aborted)
    }

    @Test("A long message is cut at a character")
    func longMessages() {
        for text in ["é", "a", "🦊"] {
            let long = String(repeating: text, count: 2_000)
            let cut = Google_Rpc_Status(LarderError(.internal, "x" + long)).message
            #expect(cut.utf8.count <= 1024 && cut.utf8.count > 1020)
            #expect(("x" + long).hasPrefix(cut))
        }
    }
}
