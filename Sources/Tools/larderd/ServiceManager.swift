import Dispatch
import Foundation

/// Reports the state of the process to the service manager (sd_notify(3)).
///
/// Without systemd, or in a unit of another type than `notify`, there is no socket, and reports
/// have no effect.
struct ServiceManager {
    enum State: String {
        case ready = "READY=1"
        case reloading = "RELOADING=1"
        case stopping = "STOPPING=1"
    }

    /// The path of a datagram socket; a leading `@` is that of the abstract namespace.
    private let path: String?

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        path = environment["NOTIFY_SOCKET"]
    }

    /// Reports a state.
    ///
    /// - Parameter monotonicTime: whether the time is reported, as units of the type
    ///   `notify-reload` require when they begin to reload.
    /// - Returns: whether the service manager has received it.
    @discardableResult
    func report(_ state: State, status: String = "", monotonicTime: Bool = false) -> Bool {
        guard let name = self.path, name.hasPrefix("/") || name.hasPrefix("@") else { return false }
        var path = Array(name.utf8)
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let size = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + path.count } ?? 0
        let descriptor = socket(AF_UNIX, Self.datagram, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var text = state.rawValue + (status.isEmpty ? "" : "\nSTATUS=\(status)")
        if monotonicTime {
            let microseconds = DispatchTime.now().uptimeNanoseconds / 1_000
            text += "\nMONOTONIC_USEC=\(microseconds)"
        }
        let message = Array(text.utf8)
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(descriptor, message, message.count, 0, address, socklen_t(size))
            }
        } == message.count
    }

    #if canImport(Glibc)
        private static let datagram = Int32(SOCK_DGRAM.rawValue)
    #else
        private static let datagram = SOCK_DGRAM
    #endif
}
