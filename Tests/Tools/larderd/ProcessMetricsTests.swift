import Testing

@testable import LarderDaemon

@Suite("Metrics of the process")
struct ProcessMetricsTests {
    @Test("memory, processor time and open files are positive")
    func positive() {
        let values = ProcessMetrics.text().split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: " ") }
        #expect(
            values.map(\.[0]) == [
                "process_cpu_seconds_total", "process_open_fds", "process_resident_memory_bytes",
            ])
        for value in values { #expect((Double(value[1]) ?? 0) > 0) }
    }
}
