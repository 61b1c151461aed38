import Foundation

/// The memory, processor time and open files of the process, in Prometheus's text format.
enum ProcessMetrics {
    /// The metrics; empty on systems without `/proc`.
    static func text() -> String {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let name = stat.lastIndex(of: ")"),
            let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        else { return "" }
        // The fields after the name, which may have spaces (proc_pid_stat(5)).
        let fields = stat[stat.index(after: name)...].split(separator: " ").map { Int($0) ?? 0 }
        guard fields.count > 21 else { return "" }
        let seconds = Double(fields[11] + fields[12]) / Double(max(sysconf(ticks), 1))
        return """
            # TYPE process_cpu_seconds_total counter
            process_cpu_seconds_total \(seconds)
            # TYPE process_open_fds gauge
            process_open_fds \(files.count)
            # TYPE process_resident_memory_bytes gauge
            process_resident_memory_bytes \(fields[21] * max(sysconf(pageSize), 1))

            """
    }

    private static let ticks = Int32(_SC_CLK_TCK)
    private static let pageSize = Int32(_SC_PAGESIZE)
}
