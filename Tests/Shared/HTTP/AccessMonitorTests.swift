import LarderSharedTestSupport
import Logging
import Metrics
import Testing

@testable import LarderHTTP

@Suite("Access monitor")
struct AccessMonitorTests {
    private let lines = Box<[(level: Logger.Level, metadata: Logger.Metadata)]>([])
    private let time = Box<Duration>(.zero)

    private func monitor() -> AccessMonitor {
        let lines = lines
        let time = time
        return AccessMonitor(
            Logger(label: "test") { _ in
                ClosureLog { event in
                    lines.withLock { $0.append((event.level, event.metadata ?? [:])) }
                }
            },
            metrics: NOOPMetricsHandler.instance
        ) { time.withLock { $0 } }
    }

    private func taken() -> [(level: Logger.Level, metadata: Logger.Metadata)] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    @Test(
        "a kind of refusal of an address is logged once in an interval, then with the number of others"
    )
    func limits() {
        let monitor = monitor()
        for _ in 0..<5 { monitor.note(.token, "wrong", over: .json, address: "10.0.0.1") }
        monitor.note(.host, "evil", over: .http, address: "10.0.0.1")
        monitor.note(.token, "wrong", over: .grpc, address: "10.0.0.2")
        let first = taken()
        #expect(first.map(\.level) == [.warning, .warning, .warning])
        #expect(first.allSatisfy { $0.metadata["suppressed"] == nil })
        #expect(first.first?.metadata["peer"] == "10.0.0.1")
        #expect(first.first?.metadata["transport"] == "json")
        time.withLock { $0 = AccessMonitor.interval }
        monitor.note(.token, "wrong", over: .websocket, address: "10.0.0.1")
        monitor.note(.token, "wrong", over: .grpc, address: "10.0.0.2")
        let second = taken()
        #expect(second.map { $0.metadata["suppressed"] } == ["4", nil])
    }

    @Test("denials by rules are no warnings")
    func rules() {
        monitor().note(.rules, "denied", over: .rest, address: nil)
        #expect(taken().map(\.level) == [.debug])
    }

    @Test("any number of addresses takes bounded memory and log")
    func addresses() {
        let monitor = monitor()
        for number in 0..<3 * AccessMonitor.maxSources {
            monitor.note(.token, "wrong", over: .grpc, address: "\(number)")
        }
        #expect(taken().count == AccessMonitor.maxSources + 1)
        // Those of before are forgotten.
        time.withLock { $0 = AccessMonitor.interval * 3 }
        monitor.note(.token, "wrong", over: .grpc, address: "new")
        #expect(taken().map { $0.metadata["peer"] } == ["new"])
    }
}
