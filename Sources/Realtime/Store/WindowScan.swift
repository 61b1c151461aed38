import CLarder
import LarderRealtimeModel

/// A query as the core scans for it.
struct WindowScan {
    private var window = larder_node_window()
    private let path: String
    private let start: Bound?
    private let end: Bound?

    private struct Bound {
        let position: IndexPosition
        let isInclusive: Bool
    }

    /// The scan for a query's window; nil if no child can be in it.
    init?(_ parameters: QueryParameters) {
        window.struct_bytes = MemoryLayout<larder_node_window>.size
        window.from_end = parameters.limit?.anchor == .last ? 1 : 0
        window.limit = Int64(parameters.limit?.count ?? 0)
        if parameters.limit?.count == 0 { return nil }
        var path = ""
        switch parameters.index {
        case .priority: window.index = Int32(LARDER_NODE_INDEX_PRIORITY)
        case .key: window.index = Int32(LARDER_NODE_INDEX_KEY)
        case .value: window.index = Int32(LARDER_NODE_INDEX_VALUE)
        case .child(let child):
            window.index = Int32(LARDER_NODE_INDEX_PATH)
            path = child.text
        }
        self.path = path
        start = parameters.start.map {
            Bound(position: parameters.startPosition, isInclusive: $0.isInclusive)
        }
        end = parameters.end.map {
            Bound(position: parameters.endPosition, isInclusive: $0.isInclusive)
        }
    }

    /// Calls with the core's form of the scan.
    func withCore<R>(_ body: (UnsafePointer<larder_node_window>) -> R) -> R {
        withBytes(path) { path in
            Self.withCore(start) { start in
                Self.withCore(end) { end in
                    var window = window
                    window.index_path = path
                    window.start = start
                    window.end = end
                    return body(&window)
                }
            }
        }
    }

    private static func withCore<R>(_ bound: Bound?, _ body: (larder_node_bound) -> R) -> R {
        var core = larder_node_bound()
        guard let bound else { return body(core) }
        let key = bound.position.key
        core.given = 1
        core.exclusive = bound.isInclusive ? 0 : 1
        core.key_kind = Int32(
            key == .min
                ? LARDER_NODE_KEY_MIN : key == .max ? LARDER_NODE_KEY_MAX : LARDER_NODE_KEY_GIVEN)
        var text = ""
        switch bound.position.value {
        case .null: core.value.type = Int32(LARDER_NODE_EMPTY)
        case .leaf(.boolean(let flag)):
            core.value.type = Int32(flag ? LARDER_NODE_TRUE : LARDER_NODE_FALSE)
        case .leaf(.number(let number)):
            core.value.type = Int32(
                number.integer == nil ? LARDER_NODE_DOUBLE : LARDER_NODE_INTEGER)
            core.value.integer = number.integer ?? 0
            core.value.number = number.double
        case .leaf(.string(let string)):
            core.value.type = Int32(LARDER_NODE_STRING)
            text = string
        case .leaf(.deferred): core.value.type = Int32(LARDER_NODE_SERVER_VALUE)
        case .children, .maximum: core.value.type = Int32(LARDER_NODE_CHILDREN)
        }
        return withBytes(text) { text in
            withBytes(key.isSentinel ? "" : key.text) { key in
                core.value.text = text
                core.key = key
                return body(core)
            }
        }
    }
}
