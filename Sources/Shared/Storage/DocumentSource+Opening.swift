import CLarder
import LarderModel

extension DocumentSource {
    /// Calls with the core's options for the source's bounds.
    func withBounds<R>(
        _ options: ScanOptions,
        _ body: (UnsafePointer<larder_scan_options>) throws(LarderError) -> R
    ) throws(LarderError) -> R {
        var core = larder_scan_options()
        larder_scan_options_init(&core, MemoryLayout<larder_scan_options>.size)
        var flags = 0
        if options.isReversed { flags |= LARDER_SCAN_REVERSE }
        if options.readsNamesOnly { flags |= LARDER_SCAN_KEYS_ONLY }
        if options.includesAllStates { flags |= LARDER_SCAN_ALL_STATES }
        if options.user != nil { flags |= LARDER_SCAN_LOCAL_VIEW }
        let bounds = bounds
        if bounds.start?.isInclusive == false { flags |= LARDER_SCAN_START_AFTER }
        if bounds.end?.isInclusive == true { flags |= LARDER_SCAN_END_AT }
        core.flags = UInt32(flags)
        // The core copies what it is given before the scan is open.
        let result: Result<R, LarderError> = withBytes(options.user?.string ?? "") { user in
            withBytes(bounds.start?.bytes ?? []) { start in
                withBytes(bounds.end?.bytes ?? []) { end in
                    core.user = user
                    core.start = start
                    core.end = end
                    return Result { () throws(LarderError) in try body(&core) }
                }
            }
        }
        return try result.get()
    }

    private var bounds: ScanBounds {
        switch kind {
        case .collection(_, let bounds), .group(_, let bounds), .index(_, _, let bounds): bounds
        default: ScanBounds()
        }
    }

    /// Opens the core's scan of a source that is no set.
    func open(
        _ reader: OpaquePointer, _ options: UnsafePointer<larder_scan_options>,
        _ scan: UnsafeMutablePointer<OpaquePointer?>, _ failure: UnsafeMutablePointer<larder_error>
    ) -> Int32 {
        switch kind {
        case .collection(let path, _):
            withBytes(path.string) { larder_scan_collection(reader, $0, options, scan, failure) }
        case .group(let id, _):
            withBytes(id) { larder_scan_group(reader, $0, options, scan, failure) }
        case .readTime(let path, let since, let id):
            withBytes(path.string) { path in
                withBytes(id) {
                    larder_scan_read_time(
                        reader, path, larder_time(since), $0, options, scan, failure)
                }
            }
        case .target(let id):
            larder_target_scan(reader, id, options, scan, failure)
        case .index(let id, let path, _):
            withBytes(path?.string ?? "") {
                larder_index_scan(reader, id, $0, options, scan, failure)
            }
        case .overlays(let user, let path, let since):
            withBytes(user.string) { user in
                withBytes(path.string) {
                    larder_overlay_scan_collection(reader, user, $0, since, scan, failure)
                }
            }
        case .groupOverlays(let user, let id, let since):
            withBytes(user.string) { user in
                withBytes(id) {
                    larder_overlay_scan_group(reader, user, $0, since, scan, failure)
                }
            }
        case .batchOverlays(let user, let batch):
            withBytes(user.string) {
                larder_overlay_scan_batch(reader, $0, batch, scan, failure)
            }
        case .union, .intersection:
            Int32(LARDER_E_INVALID_ARGUMENT)
        }
    }
}
