import LarderTestSupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import LarderHTTP

@Suite("HTTP/2: the same as SwiftNIO's")
struct HTTP2DifferentialTests {
    private typealias Frame = HTTP2Peer.Frame

    /// What a server has received on each stream.
    private struct Received: Equatable {
        var headers: [[String]] = []
        var body: [UInt8] = []
        var hasEnded = false
    }

    /// Receives the frames of either handler; data may come in other pieces.
    private final class Recorder: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        var streams: [Int: Received] = [:]

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            let id = Int(frame.streamID)
            switch frame.payload {
            case .headers(let headers):
                streams[id, default: Received()].headers.append(
                    headers.headers.map { "\($0.name)=\($0.value)" })
                if headers.endStream { streams[id]?.hasEnded = true }
            case .data(let data):
                guard case .byteBuffer(let bytes) = data.data else { return }
                streams[id, default: Received()].body += bytes.readableBytesView
                if data.endStream { streams[id]?.hasEnded = true }
            default: break
            }
        }
    }

    /// A server's end of a connection.
    private struct Server {
        let channel = EmbeddedChannel()
        let recorder = Recorder()

        init(_ handler: any ChannelHandler) throws {
            try channel.pipeline.syncOperations.addHandlers(handler, recorder)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }

        func send(_ bytes: some Sequence<UInt8>) {
            _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        }

        func close() { _ = try? channel.finish(acceptAlreadyClosed: true) }
    }

    /// Sends the same bytes to both handlers, in the same pieces.
    private func compare(_ pieces: [ArraySlice<UInt8>], _ note: String) throws {
        let ours = try Server(try HTTP2Handler(HTTP2Handler.Limits()))
        let other = try Server(NIOHTTP2Handler(mode: .server))
        defer {
            ours.close()
            other.close()
        }
        for piece in pieces {
            ours.send(piece)
            other.send(piece)
        }
        for id in Set(ours.recorder.streams.keys).union(other.recorder.streams.keys).sorted() {
            #expect(ours.recorder.streams[id] == other.recorder.streams[id], "\(note): \(id)")
        }
        #expect(ours.channel.isActive && other.channel.isActive, "\(note)")
    }

    /// Frames of several streams, interleaved.
    private func conversation(_ random: inout SeededRandom) throws -> [UInt8] {
        let client = try HTTP2Peer()
        var bytes = HTTP2Peer.preface + Frame(type: .settings).bytes
        var open: [UInt32] = []
        var next: UInt32 = 1
        for _ in 0..<Int.random(in: 3...12, using: &random) {
            if open.isEmpty || Bool.random(using: &random) {
                let block = try client.headers()
                let cut = Int.random(in: 0...block.count, using: &random)
                bytes += Frame(type: .headers, stream: next, payload: Array(block[..<cut])).bytes
                bytes +=
                    Frame(
                        type: .continuation, flags: HTTP2Peer.endsHeaders, stream: next,
                        payload: Array(block[cut...])
                    ).bytes
                open.append(next)
                next += 2
            }
            let stream = open.randomElement(using: &random) ?? 1
            let isLast = Int.random(in: 0..<4, using: &random) == 0
            let padding = UInt8.random(in: 0...5, using: &random)
            // SwiftNIO refuses several empty frames in a row.
            let contents = (0..<Int.random(in: 1...30, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            bytes +=
                Frame(
                    type: .data, flags: HTTP2Peer.isPadded | (isLast ? HTTP2Peer.endsStream : 0),
                    stream: stream,
                    payload: [padding] + contents + Array(repeating: 0, count: Int(padding))
                ).bytes
            if isLast { open.removeAll { $0 == stream } }
            if Bool.random(using: &random) {
                bytes += Frame(type: .ping, payload: [UInt8](repeating: 3, count: 8)).bytes
            }
        }
        return bytes
    }

    @Test("The same frames, cut at every byte, are the same requests")
    func cuts() throws {
        var random = SeededRandom()
        for number in 0..<3 {
            let bytes = try conversation(&random)
            for cut in 0...bytes.count {
                try compare([bytes[..<cut], bytes[cut...]], "\(number) cut at \(cut)")
            }
        }
    }

    @Test("The same frames in random pieces are the same requests")
    func pieces() throws {
        var random = SeededRandom()
        for number in 0..<100 {
            var rest = try conversation(&random)[...]
            var pieces: [ArraySlice<UInt8>] = []
            while !rest.isEmpty {
                let size = Int.random(in: 1...40, using: &random)
                pieces.append(rest.prefix(size))
                rest = rest.dropFirst(size)
            }
            try compare(pieces, "\(number)")
        }
    }
}
