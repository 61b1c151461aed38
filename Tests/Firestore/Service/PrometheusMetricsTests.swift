import Metrics
import Testing

@testable import LarderServer

@Suite("Metrics in Prometheus's text format")
struct PrometheusMetricsTests {
    private let metrics = PrometheusMetrics()

    @Test("without metrics there is no text")
    func none() {
        #expect(metrics.text().isEmpty)
    }

    @Test("counters of one name and different labels are one family")
    func counters() {
        for (method, count) in [("b", 2), ("a", 3), ("b", 1)] {
            Counter(label: "calls", dimensions: [("method", method)], factory: metrics)
                .increment(by: count)
        }
        #expect(
            metrics.text() == """
                # TYPE calls counter
                calls{method="a"} 3
                calls{method="b"} 3

                """)
    }

    @Test("gauges and meters have their last value")
    func gauges() {
        Gauge(label: "streams", factory: metrics).record(7)
        Gauge(label: "streams", factory: metrics).record(0.5)
        let meter = Meter(label: "open", factory: metrics)
        meter.set(5)
        meter.decrement(by: 2)
        #expect(
            metrics.text() == """
                # TYPE open gauge
                open 3
                # TYPE streams gauge
                streams 0.5

                """)
    }

    @Test("timers are histograms in seconds, with cumulative buckets")
    func timers() {
        let timer = Timer(label: "time", dimensions: [("x", "y")], factory: metrics)
        for milliseconds in [1, 2, 20_000] { timer.recordMilliseconds(milliseconds) }
        let lines = metrics.text().split(separator: "\n").map(String.init)
        #expect(lines.first == "# TYPE time histogram")
        #expect(lines.contains(#"time_bucket{x="y",le="0.0005"} 0"#))
        #expect(lines.contains(#"time_bucket{x="y",le="0.001"} 1"#))
        #expect(lines.contains(#"time_bucket{x="y",le="0.0025"} 2"#))
        #expect(lines.contains(#"time_bucket{x="y",le="10.0"} 2"#))
        #expect(
            lines.suffix(3) == [
                #"time_bucket{x="y",le="+Inf"} 3"#, #"time_sum{x="y"} 20.003"#,
                #"time_count{x="y"} 3"#,
            ])
    }

    @Test("recorders are summaries")
    func recorders() {
        let recorder = Recorder(label: "size", factory: metrics)
        for size in [1, 2, 6] { recorder.record(size) }
        #expect(metrics.text() == "# TYPE size summary\nsize_sum 9\nsize_count 3\n")
    }

    @Test("names and labels are escaped")
    func escapes() {
        Counter(label: "1.é-x", dimensions: [("a b", "q\"\\\n")], factory: metrics).increment()
        #expect(metrics.text().hasSuffix("\n_1___x{a_b=\"q\\\"\\\\\\n\"} 1\n"))
    }

    @Test("a destroyed metric is gone")
    func destroys() {
        let counter = Counter(label: "a", factory: metrics)
        let (timer, gauge) = (
            Timer(label: "b", factory: metrics), Gauge(label: "c", factory: metrics)
        )
        counter.destroy()
        timer.destroy()
        gauge.destroy()
        #expect(metrics.text().isEmpty)
        Counter(label: "a", factory: metrics).increment()
        #expect(metrics.text().hasSuffix("a 1\n"))
    }
}
