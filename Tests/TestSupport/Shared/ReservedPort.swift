import Foundation

/// A port of this machine that no other program can take while a test's server does not listen.
///
/// A socket is bound to it that does not listen: it is never chosen for another program, and
/// connections to it are refused. A server that sets `SO_REUSEADDR` can listen at it.
package final class ReservedPort: Sendable {
    package let number: Int
    private let descriptor: Int32

    /// Reserves a free port.
    package init() throws {
        descriptor = socket(AF_INET, Self.stream, 0)
        var (isOn, address) = (Int32(1), sockaddr_in())
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        setsockopt(
            descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) | getsockname(descriptor, $0, &size)
            }
        }
        number = Int(UInt16(bigEndian: address.sin_port))
        guard status == 0 else {
            close(descriptor)
            throw POSIXError(.EADDRNOTAVAIL)
        }
        #if !os(Linux)
            // Elsewhere the option does not suffice to share a port.
            close(descriptor)
        #endif
    }

    deinit {
        #if os(Linux)
            close(descriptor)
        #endif
    }

    #if canImport(Glibc)
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #else
        private static let stream = SOCK_STREAM
    #endif
}
