import LarderRealtimeModel

/// How much was written below the locations of cache rules with a maximum size, since their cached
/// data was measured.
///
/// Measuring reads all rows of a location, so it is done only when enough was written to exceed
/// the maximum, or a sixteenth of it once it is nearly reached.
struct CacheRuleSizes {
    private struct Size {
        let maximum: Int64
        /// Nil before the first measurement.
        var measured: Int64?
        var written: Int64 = 0
        /// True if a query was released that may go.
        var hasReleased = false

        var isDue: Bool {
            guard let measured else { return true }
            return written > max(maximum - measured, CacheRuleSizes.slack(of: maximum))
                || hasReleased && measured > maximum
        }
    }

    private var sizes: [TreePath: Size] = [:]
    private let rules: TreeCacheRules

    init(_ rules: TreeCacheRules = TreeCacheRules()) {
        self.rules = rules
        for rule in rules.list {
            if let maximum = rule.maximumBytes { sizes[rule.path] = Size(maximum: maximum) }
        }
    }

    /// The space in bytes that is freed below a maximum, so that a full cache is not measured for
    /// each write.
    static func slack(of maximum: Int64) -> Int64 { maximum / 16 }

    /// The rules whose cached data is to be measured, in their order.
    var dueRules: [TreeCacheRule] {
        sizes.isEmpty ? [] : rules.list.filter { sizes[$0.path]?.isDue == true }
    }

    /// Notes values that were written, by their paths from the root.
    mutating func note(_ runs: [[PathValue]]) {
        if sizes.isEmpty { return }
        for value in runs.joined() {
            // With rows and keys about twice the text at most.
            let size = 2 * Int64(value.node.estimatedSize) + 64
            for path in paths(overlapping: value.path) { sizes[path]?.written += size }
        }
    }

    private func paths(overlapping path: TreePath) -> [TreePath] {
        var paths: [TreePath] = []
        rules.forEach(overlapping: path) { paths.append($0.path) }
        return paths
    }

    /// Notes that a query of a rule is no longer in use.
    mutating func noteRelease(of rule: TreeCacheRule) {
        sizes[rule.path]?.hasReleased = true
    }

    /// Notes the size of a rule's cached data.
    mutating func measured(_ size: Int64, of rule: TreeCacheRule) {
        guard let maximum = rule.maximumBytes else { return }
        sizes[rule.path] = Size(maximum: maximum, measured: size)
    }
}
