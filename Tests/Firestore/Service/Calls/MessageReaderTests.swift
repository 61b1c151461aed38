import GRPCCore
import NIOCore
import Testing

@testable import LarderServer

@Suite("Server: messages in the bytes of a call")
struct MessageReaderTests {
    private func steps(
        _ bytes: [UInt8], maxBytes: Int = 1_000, every size: Int = .max,
        encoding: String? = nil
    ) throws -> [MessageReader.Step] {
        var reader = MessageReader(maxBytes: maxBytes)
        reader.encoding = encoding
        var steps: [MessageReader.Step] = []
        var (rest, buffer) = (bytes[...], ByteBuffer())
        while !rest.isEmpty {
            buffer.writeBytes(rest.prefix(size))
            rest = rest.dropFirst(size)
            while let step = try reader.next(&buffer) { steps.append(step) }
        }
        #expect(reader.isBetween && buffer.readableBytes == 0)
        return steps
    }

    @Test("are found wherever their bytes are parted", arguments: [1, 2, 3, 4, 5, 6, 7, 11, .max])
    func parts(size: Int) throws {
        let messages: [[UInt8]] = [[], [1], [2, 3, 4], [], Array(0..<200), [5]]
        let bytes = messages.flatMap { TestConnection.framed($0) }
        #expect(
            try steps(bytes, every: size) == messages.flatMap { [.begins($0.count), .message($0)] })
    }

    @Test("are as large as they may be, and no larger")
    func limit() throws {
        #expect(try steps(TestConnection.message(1_005)).first == .begins(1_000))
        let error = #expect(throws: RPCError.self) { try steps(TestConnection.message(1_006)) }
        #expect(error?.code == .invalidArgument)
    }

    @Test("are not compressed", arguments: [1, 2, 255] as [UInt8], [nil, "gzip"])
    func compressed(flag: UInt8, encoding: String?) {
        let error = #expect(throws: RPCError.self) {
            try steps([flag, 0, 0, 0, 0], encoding: encoding)
        }
        #expect(error?.code == (flag == 1 && encoding != nil ? .unimplemented : .internalError))
    }
}
