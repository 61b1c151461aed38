import Foundation
package import LarderCore
import NIOCore

/// The resources of the process that a number of open databases takes, and what they leave for
/// connections.
package enum DatabaseCapacity {
    /// The address space for the databases of a server: half of what a process has.
    private static let addressSpace: UInt64 = 1 << 46
    private static let mapRange: ClosedRange<UInt64> = 1 << 28...1 << 36
    /// Open files of a database: the data twice, the log and two locks.
    static let filesPerDatabase = 5
    /// Memory maps of a database: the data, the lock and buffers.
    private static let mapsPerDatabase = 3
    /// Files of everything but databases and connections: those of the event loops, standard
    /// streams, the data directory, and others that are open for a short time, as connections are
    /// that are accepted and closed at a limit.
    static let otherFiles = 48 + 3 * System.coreCount
    /// The least number of connections that a server has files for.
    static let leastConnections = 16
    /// Memory maps of everything else.
    private static let otherMaps = 64

    /// The address space to reserve for each of a number of databases; a power of two.
    package static func mapBytes(databases: Int) -> UInt64 {
        let share = max(addressSpace / UInt64(max(databases, 1)), 1)
        let power: UInt64 = 1 << UInt64(share.bitWidth - 1 - share.leadingZeroBitCount)
        return min(max(power, mapRange.lowerBound), mapRange.upperBound)
    }

    /// The number of databases of each kind that a server may open unless its operator says
    /// otherwise: 100, or as many as half of the open files are for.
    ///
    /// - Parameter kinds: the number of kinds.
    package static func defaultCount(kinds: Int, _ limits: ProcessLimits = .current) -> Int {
        guard let files = limits.files else { return 100 }
        return min(max(files / 2 / (filesPerDatabase * kinds), 1), 100)
    }

    /// The number of connections for which a number of databases leaves files.
    package static func connections(
        besides databases: Int, _ limits: ProcessLimits = .current
    ) -> Int {
        guard let files = limits.files else { return .max }
        return max(files - databases * filesPerDatabase - otherFiles, leastConnections)
    }

    /// Throws `failedPrecondition` if the process cannot open that many databases.
    package static func check(
        databases: Int, _ limits: ProcessLimits = .current
    ) throws(LarderError) {
        func require(_ needed: Int, _ limit: Int?, _ what: String) throws(LarderError) {
            guard let limit, needed > limit else { return }
            throw LarderError(
                .failedPrecondition,
                "\(databases) databases need \(needed) \(what), but the system allows \(limit): "
                    + "lower the number of databases or raise the limit",
                domain: LarderError.sharedDomain)
        }
        try require(
            databases * filesPerDatabase + otherFiles + leastConnections, limits.files, "open files"
        )
        try require(databases * mapsPerDatabase + otherMaps, limits.maps, "memory maps")
        let space = mapBytes(databases: databases).multipliedReportingOverflow(
            by: UInt64(databases)
        ).partialValue
        try require(
            Int(clamping: space >> 20), limits.addressSpace.map { $0 >> 20 },
            "MiB of address space")
    }
}

/// The system's limits of the process; nil for none.
package struct ProcessLimits: Sendable {
    /// The maximum number of open files.
    package var files: Int?
    /// The maximum number of memory maps.
    var maps: Int?
    /// The maximum address space in bytes.
    var addressSpace: Int?

    /// The current limits.
    package static var current: ProcessLimits {
        let maps = try? String(contentsOfFile: "/proc/sys/vm/max_map_count", encoding: .utf8)
        return ProcessLimits(
            files: soft(RLIMIT_NOFILE),
            maps: maps.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) },
            addressSpace: soft(RLIMIT_AS))
    }

    /// Raises the soft limit of open files to the hard one.
    package static func raiseFiles() {
        guard var limit = get(RLIMIT_NOFILE), limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = limit.rlim_max
        set(RLIMIT_NOFILE, limit)
    }

    private static func soft(_ resource: Resource) -> Int? {
        guard let limit = get(resource), limit.rlim_cur != rlim_t.max else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    private static func get(_ resource: Resource) -> rlimit? {
        var limit = rlimit()
        return getrlimit(resource.number, &limit) == 0 ? limit : nil
    }

    private static func set(_ resource: Resource, _ limit: rlimit) {
        var limit = limit
        setrlimit(resource.number, &limit)
    }

    #if canImport(Glibc)
        private typealias Resource = __rlimit_resource
    #else
        private typealias Resource = CInt
    #endif
}

#if canImport(Glibc)
    extension __rlimit_resource {
        fileprivate var number: __rlimit_resource_t { .init(rawValue) }
    }
#else
    extension CInt {
        fileprivate var number: CInt { self }
    }
#endif
