import Foundation
import GRPCCore

/// A host that lets clients connect, and never says a word.
final class SilentHost: Sendable {
    let port: Int
    private let socketNumber: Int32

    init() throws {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // Whoever connects waits in the backlog, where nobody takes him from.
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            guard let place = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else {
                return false
            }
            return bind(number, place, size) == 0 && listen(number, 8) == 0
                && getsockname(number, place, &size) == 0
        }
        guard isListening else {
            close(number)
            throw RPCError(code: .unavailable, message: "nothing can listen here")
        }
        socketNumber = number
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit {
        close(socketNumber)
    }
}
