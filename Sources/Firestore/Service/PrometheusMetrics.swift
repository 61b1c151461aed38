public import Metrics
import Synchronization

/// Metrics of swift-metrics in memory, for Prometheus to scrape.
///
/// Timers are histograms in seconds, aggregating recorders summaries without quantiles, other
/// recorders and meters gauges. It can be replaced with any other `MetricsFactory`, such as that
/// of swift-prometheus: the server uses the metrics system of the process, and
/// ``ServerConfiguration/metricsText`` for `GET /metrics`.
///
/// ```swift
/// let metrics = PrometheusMetrics()
/// MetricsSystem.bootstrap(metrics)
/// configuration.metricsText = { metrics.text() }
/// ```
public final class PrometheusMetrics: MetricsFactory {
    private struct Key: Hashable {
        let name: String
        /// The labels in Prometheus's form, without braces.
        let labels: String
    }

    private struct State {
        var metrics: [Key: Metric] = [:]
        var keys: [ObjectIdentifier: Key] = [:]
    }

    private let state = Mutex(State())

    /// Creates a factory without metrics.
    public init() {}

    /// All metrics in Prometheus's text format, version 0.0.4, sorted by their names.
    public func text() -> String {
        let metrics = state.withLock { $0.metrics }
            .sorted { ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels) }
        var text = ""
        var name = ""
        for (key, metric) in metrics {
            if key.name != name { text += "# TYPE \(key.name) \(metric.kind.rawValue)\n" }
            name = key.name
            metric.write(key.name, key.labels, to: &text)
        }
        return text
    }

    // MARK: Metrics

    /// Makes a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        metric(.counter, label, dimensions)
    }

    /// Makes a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        metric(.gauge, label, dimensions)
    }

    /// Makes a summary, or a gauge if it does not aggregate.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        metric(aggregate ? .summary : .gauge, label, dimensions)
    }

    /// Makes a histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        metric(.histogram, label, dimensions)
    }

    /// Removes a counter from the text.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
    /// Removes a meter from the text.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
    /// Removes a recorder from the text.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
    /// Removes a timer from the text.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    /// The metric with a name and labels: handlers of the same ones share it.
    private func metric(
        _ kind: Metric.Kind, _ label: String, _ dimensions: [(String, String)]
    ) -> Metric {
        let labels = dimensions.map { "\(Self.name($0))=\"\(Self.escaped($1))\"" }.sorted()
        let key = Key(name: Self.name(label), labels: labels.joined(separator: ","))
        return state.withLock { state in
            if let known = state.metrics[key], known.kind == kind { return known }
            let metric = Metric(kind)
            state.metrics[key] = metric
            state.keys[ObjectIdentifier(metric)] = key
            return metric
        }
    }

    private func remove(_ handler: any AnyObject) {
        state.withLock { state in
            guard let key = state.keys.removeValue(forKey: ObjectIdentifier(handler)) else {
                return
            }
            state.metrics[key] = nil
        }
    }

    /// A name of letters, digits and underscores.
    private static func name(_ label: String) -> String {
        let name = label.map { character in
            character.isASCII && (character.isLetter || character.isNumber) ? character : "_"
        }
        return (name.first?.isNumber ?? true ? "_" : "") + String(name)
    }

    private static func escaped(_ value: String) -> String {
        value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
    }
}

/// A metric of any kind.
private final class Metric: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    enum Kind: String {
        case counter, gauge, histogram, summary
    }

    private struct State {
        /// The value, or the sum of all.
        var value = 0.0
        var count = 0
        /// The numbers of values up to the bound of each bucket, and above that of the one before.
        var buckets: [Int] = []
    }

    /// The upper bounds of a histogram's buckets, in seconds.
    private static let bounds = [
        0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    let kind: Kind
    private let state: Mutex<State>

    init(_ kind: Kind) {
        self.kind = kind
        let buckets = kind == .histogram ? Self.bounds.count : 0
        state = Mutex(State(buckets: Array(repeating: 0, count: buckets)))
    }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { state.withLock { $0.value += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func reset() { state.withLock { $0.value = 0 } }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { state.withLock { $0.value = value } }
    func record(_ value: Int64) { record(Double(value)) }
    func record(_ value: Double) { if kind == .gauge { set(value) } else { add(value) } }
    func recordNanoseconds(_ duration: Int64) { add(Double(duration) / 1e9) }

    private func add(_ value: Double) {
        let bucket = Self.bounds.firstIndex { value <= $0 }
        state.withLock { state in
            state.value += value
            state.count += 1
            if let bucket, kind == .histogram { state.buckets[bucket] += 1 }
        }
    }

    /// Appends the lines of the metric.
    func write(_ name: String, _ labels: String, to text: inout String) {
        let state = state.withLock { $0 }
        let all = labels.isEmpty ? "" : "{\(labels)}"
        switch kind {
        case .counter, .gauge: text += "\(name)\(all) \(Self.text(state.value))\n"
        case .histogram, .summary:
            var count = 0
            for (bound, size) in zip(Self.bounds, state.buckets) {
                count += size
                let bucket = labels.isEmpty ? "" : labels + ","
                text += "\(name)_bucket{\(bucket)le=\"\(bound)\"} \(count)\n"
            }
            if kind == .histogram {
                let bucket = labels.isEmpty ? "" : labels + ","
                text += "\(name)_bucket{\(bucket)le=\"+Inf\"} \(state.count)\n"
            }
            text += "\(name)_sum\(all) \(Self.text(state.value))\n"
            text += "\(name)_count\(all) \(state.count)\n"
        }
    }

    private static func text(_ value: Double) -> String {
        Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}
