import Foundation
import LarderCore

/// The memory that clients occupy and the free space of the disk, in Prometheus's text format.
enum ServerMetrics {
    /// - Parameter storage: the location of the databases; in memory there is no disk.
    static func text(_ ledger: MemoryLedger, _ storage: ServerConfiguration.Storage) -> String {
        var text = gauge(
            "larder_server_memory_limit_bytes",
            "The memory that requests and unread responses may occupy.", ledger.limit)
        text += gauge(
            "larder_server_memory_bytes", "The memory that requests and unread responses occupy.",
            ledger.heldBytes)
        guard case .directory(let path) = storage, let bytes = freeBytes(path) else { return text }
        return text
            + gauge(
                "larder_server_disk_free_bytes",
                "The space for the data directory that is free on its file system.", bytes)
    }

    private static func gauge(_ name: String, _ help: String, _ value: Int) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) gauge\n\(name) \(value)\n"
    }

    /// The free space for unprivileged processes; nil if the system does not say.
    private static func freeBytes(_ path: String) -> Int? {
        var system = statvfs()
        guard statvfs(path, &system) == 0 else { return nil }
        let bytes = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize))
        return bytes.overflow ? nil : Int(clamping: bytes.partialValue)
    }
}
