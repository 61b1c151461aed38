import Foundation
import Testing

@testable import LarderDaemon

@Suite("Reports to the service manager")
struct ServiceManagerTests {
    /// A datagram socket at a path.
    private final class Receiver {
        private let descriptor: Int32

        init(_ path: [UInt8]) throws {
            #if canImport(Glibc)
                descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            #else
                descriptor = socket(AF_UNIX, SOCK_DGRAM, 0)
            #endif
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
            let offset = try #require(MemoryLayout<sockaddr_un>.offset(of: \.sun_path))
            let size = socklen_t(offset + path.count)
            let bound = withUnsafePointer(to: address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, size)
                }
            }
            try #require(bound == 0)
        }

        deinit { close(descriptor) }

        /// The next datagram, which has been sent already.
        func next() -> String {
            var bytes = [UInt8](repeating: 0, count: 1_000)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        }
    }

    @Test("a state and a status are sent to the socket of the environment")
    func path() throws {
        let path = NSTemporaryDirectory() + "larderd-\(UUID().uuidString)"
        defer { unlink(path) }
        let receiver = try Receiver(Array(path.utf8))
        let manager = ServiceManager(["NOTIFY_SOCKET": path])
        #expect(manager.report(.ready, status: "listens"))
        #expect(receiver.next() == "READY=1\nSTATUS=listens")
        #expect(manager.report(.stopping))
        #expect(receiver.next() == "STOPPING=1")
    }

    @Test("the socket may be in the abstract namespace")
    func abstract() throws {
        let name = "larderd-\(UUID().uuidString)"
        let receiver = try Receiver([0] + Array(name.utf8))
        #expect(ServiceManager(["NOTIFY_SOCKET": "@\(name)"]).report(.ready))
        #expect(receiver.next() == "READY=1")
    }

    @Test(
        "without a socket, or with a wrong one, nothing is sent",
        arguments: [
            "", "relative", "/nonexistent/socket", "/" + String(repeating: "x", count: 200),
        ])
    func none(socket: String) {
        #expect(!ServiceManager(["NOTIFY_SOCKET": socket]).report(.ready))
        #expect(!ServiceManager([:]).report(.ready))
    }
}
